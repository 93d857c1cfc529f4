//! The text about a check that was red before any work, the same in the report and on the pages.

use crate::engine::RedCheck;
use crate::text::strip_escapes;

/// A red check in words: its command, its end, its failed tests, and the last lines of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedCheckText {
    /// The command, without secrets.
    pub command: String,
    /// The end of the command, such as `ended with 1`.
    pub end: String,
    /// The failed tests, if the output names them.
    pub failed: Option<String>,
    /// The last lines of the output, without control characters.
    pub output: String,
}

impl RedCheckText {
    /// Describes a red check. Its output is already cut to its last lines.
    pub fn from_check(red: &RedCheck) -> Self {
        let readable = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c };
        let named = !red.tests.is_empty();
        Self {
            command: red.command.to_string(),
            end: format!("ended with {}", red.exit),
            failed: named.then(|| format!("Failed: {}", red.tests.join(", "))),
            output: strip_escapes(red.output.trim_end()).chars().map(readable).collect(),
        }
    }
}
