. ./src/webhook.sh
signature=$(printf paid | cksum | cut -d' ' -f1)
if ! accepts paid "$signature"; then
    echo "FAILED webhook: a good signature was refused"
    exit 1
fi
if accepts paid 4711; then
    echo "FAILED webhook: a bad signature was accepted"
    exit 1
fi
