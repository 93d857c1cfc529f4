//! The result of a program.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::deadlines::Deadline;
use super::output::OutputExcerpt;

/// The result of a program that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessResult {
    /// The way in which it ended.
    pub how: ProcessEnd,
    /// The part of its output that was kept.
    pub output: OutputExcerpt,
    /// Time from its start until its last process was gone.
    pub duration: Duration,
    /// Number of processes that it left behind and that were killed.
    pub leftovers_ended: u32,
}

/// The way in which a program ended. Unless stated otherwise, no process of its tree is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// The program exited with this exit code.
    Exited(i32),
    /// The program was ended by this signal, which the guard did not send.
    Signalled(i32),
    /// The program was ended because a deadline passed.
    TimedOut {
        /// The deadline that passed.
        which: Deadline,
        /// The limit of that deadline.
        limit: Duration,
    },
    /// The program was ended because the caller asked for it.
    Stopped,
    /// The program was ended because it had more processes and threads than allowed.
    TooMany {
        /// Maximum number of processes and threads.
        allowed: u64,
    },
    /// The program was not started.
    NotStarted(StartFailure),
    /// The guard was killed, so the result is unknown.
    Lost {
        /// `true` if every process of the tree that could be found is gone.
        tree_gone: bool,
    },
}

/// The reason for which a program was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartFailure {
    /// The program does not exist.
    NotFound,
    /// The program may not be executed.
    AccessDenied,
    /// The working directory does not exist.
    DirectoryMissing,
    /// The machine cannot create another process at the moment.
    NoRoom,
    /// The wall for the program could not be set up.
    NoWall,
    /// Any other reason, as the system's error number.
    Other(i32),
}

impl StartFailure {
    /// Returns the reason for which the system did not start `program`, which was looked up along
    /// `search`.
    pub(super) fn from_io_error(error: &io::Error, program: &OsStr, search: &OsStr) -> Self {
        let number = error.raw_os_error().unwrap_or_default();
        match Errno::from_raw_os_error(number) {
            Errno::NOENT => Self::NotFound,
            Errno::ACCESS if !is_in_search_path(program, search) => Self::NotFound,
            Errno::ACCESS | Errno::PERM => Self::AccessDenied,
            Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE => Self::NoRoom,
            _ => Self::Other(number),
        }
    }
}

/// Returns whether a program exists in a directory of the search path that can be read. An
/// unreadable directory makes the system report "access denied" for every program that does not
/// exist.
fn is_in_search_path(program: &OsStr, search: &OsStr) -> bool {
    let looked_up = !program.as_bytes().contains(&b'/');
    !looked_up || std::env::split_paths(search).any(|place| place.join(program).is_file())
}
