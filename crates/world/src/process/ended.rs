//! How a program ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::deadlines::Deadline;
use super::output::Kept;

/// What came of a program that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub how: How,
    /// What is kept of its output.
    pub output: Kept,
    /// From its start until nothing of it was left.
    pub duration: Duration,
    /// How many processes it left behind, which were ended.
    pub leftovers_ended: u32,
}

/// How a program ended. Whatever it says, nothing of the program's tree is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// It was ended because a deadline passed.
    TimedOut {
        /// Which deadline.
        which: Deadline,
        /// How long it was.
        limit: Duration,
    },
    /// It was ended because somebody asked for it.
    Stopped,
    /// It never started.
    NotStarted(NotStarted),
    /// The guard was killed, so nobody knows.
    Lost {
        /// Whether all of the tree that could be found is gone.
        tree_gone: bool,
    },
}

/// Why a program did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// There is no such program.
    NotFound,
    /// It may not be executed.
    AccessDenied,
    /// The directory it was to start in does not exist.
    DirectoryMissing,
    /// The machine has no room for another process at the moment.
    NoRoom,
    /// Anything else, by the system's error number.
    Other(i32),
}
