//! placeholder
/// The rule's own name for a name read back.
pub fn known(_rule: &str) -> &'static str {
    "retired"
}
