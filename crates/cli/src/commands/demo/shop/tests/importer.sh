. ./src/importer.sh
if [ "$(printf 'cup\nplate\n' | import)" != "$(printf 'CUP\nPLATE')" ]; then
    echo "FAILED importer: articles are lost or changed"
    exit 1
fi
