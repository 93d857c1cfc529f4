# Puts the preview online at the hosting account in $HOSTING. With --there it only looks: 0 when the
# preview is online, 1 when it is not.
if [ "$1" = --there ]; then
    [ -e "$HOSTING/online" ]
    exit
fi
if [ "$(cat "$HOSTING/key")" = revoked ]; then
    echo "hosting: 401 Unauthorized: the token was revoked" >&2
    exit 22
fi
echo preview >>"$HOSTING/online"
