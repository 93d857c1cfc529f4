. ./src/client.sh
case " $(call_options) " in
*" --max-time 5 "*) ;;
*)
    echo "FAILED client: a call that hangs is not given up after five seconds"
    exit 1
    ;;
esac
