. ./src/settings.sh
if [ "$(heading)" != "Settings" ]; then
    echo "FAILED settings: the heading is untidy"
    exit 1
fi
