#!/bin/sh
# A script that says what it fails of: `unstuck exec -- ./fail.sh`.
# `unstuck fail` never ends with 0, so that a script can end with it.

if [ ! -f token ]; then
    exec unstuck fail --code AUTH_EXPIRED --message "no token: log in to the shop and put it into ./token"
fi
echo "logged in with $(wc -c <token) bytes"
