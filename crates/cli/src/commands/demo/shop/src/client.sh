# How the shop calls its suppliers.
call_options() {
    echo "--silent --fail"
}
