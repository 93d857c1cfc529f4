# The heading of the settings page.
heading() {
    echo "settings -- page !!"
}
