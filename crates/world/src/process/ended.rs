//! How a program ended.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use rustix::io::Errno;
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
    /// It was ended because it had more processes and threads than are allowed.
    TooMany {
        /// How many are allowed.
        allowed: u64,
    },
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
    /// The wall that it was to run behind could not be put up.
    NoWall,
    /// Anything else, by the system's error number.
    Other(i32),
}

impl NotStarted {
    /// Why the system did not start `program`, which was looked up along `search`.
    pub(super) fn reason(error: &io::Error, program: &OsStr, search: &OsStr) -> Self {
        let number = error.raw_os_error().unwrap_or_default();
        match Errno::from_raw_os_error(number) {
            Errno::NOENT => Self::NotFound,
            Errno::ACCESS if !is_anywhere(program, search) => Self::NotFound,
            Errno::ACCESS | Errno::PERM => Self::AccessDenied,
            Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE => Self::NoRoom,
            _ => Self::Other(number),
        }
    }
}

/// Whether a program that is looked up is in any directory that we may look into. One that we may
/// not makes the system say "access denied" about every program that does not exist.
fn is_anywhere(program: &OsStr, search: &OsStr) -> bool {
    let looked_up = !program.as_bytes().contains(&b'/');
    !looked_up || std::env::split_paths(search).any(|place| place.join(program).is_file())
}
