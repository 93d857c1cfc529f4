# Reads articles, one in a line, and writes them in capitals.
import() {
    while read -r article; do
        echo "$article" | tr a-z A-Z
    done
}
