//! The headings of a report's parts, the same in the terminal, in a file and on the page.

/// Tasks that are done.
pub const DONE: &str = "Done";
/// Tasks that needed no change.
pub const UNCHANGED: &str = "No change needed";
/// Requests of agents that were denied.
pub const REFUSED: &str = "Not allowed to agents";
/// Checks that were red before any agent worked.
pub const RED_BASE: &str = "Failed before the work began";
/// Open questions.
pub const WAITING: &str = "Waiting for you";
/// Tasks that ended without being done.
pub const NOT_DONE: &str = "Not done, and why";
/// Tasks that have not ended.
pub const STILL: &str = "Still to do";
/// Answered questions.
pub const ANSWERED: &str = "Asked and answered";
/// Periods in which an account was limited.
pub const WAITS: &str = "Waits";
