//! What a guard tells its supervisor, one JSON object per line.

use std::io::{self, PipeWriter, Write as _};

use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize};

use crate::process::ended::NotStarted;
use crate::process::wall::Held;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum Report {
    /// The lock is ours and the program runs, with this much of its wall.
    Started(Held),
    /// Nothing was started, and the lock is not ours.
    Refused(Refusal),
    /// Nothing of the program is left, and the lock is free again. The last line.
    Gone(Gone),
}

/// Why a guard did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum Refusal {
    /// Somebody holds the lock.
    Held,
    /// The lock file cannot be used, by the system's error number.
    Lock(i32),
    /// The guard itself could not be set up, by the system's error number.
    Setup(i32),
}

/// How a tree went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::process) struct Gone {
    /// How the program ended.
    pub(in crate::process) program: Program,
    /// Whether the guard was told to end it.
    pub(in crate::process) stopped: bool,
    /// How many processes the program left behind when it ended by itself.
    pub(in crate::process) leftovers: u32,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum Program {
    Exited(i32),
    Signalled(i32),
    NotStarted(NotStarted),
    /// It was ended with all it had started, which was more than this many processes and threads.
    TooMany(u64),
}

/// What the stage inside a wall tells the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum Said {
    /// The wall stands this far, and the program runs.
    Started(Held),
    /// The program has ended, or never began.
    Ended(Program),
}

impl Program {
    /// None while it has not ended.
    pub(in crate::process) fn ended(status: WaitStatus) -> Option<Self> {
        let signal = || status.terminating_signal().map(Self::Signalled);
        status.exit_status().map(Self::Exited).or_else(signal)
    }
}

impl Report {
    /// Writes the line. Nobody has to be there to read it.
    pub(super) fn send(self, mut to: &PipeWriter) {
        let line = serde_json::to_vec(&self).map_err(io::Error::from);
        let _ = line.and_then(|mut line| {
            line.push(b'\n');
            to.write_all(&line)
        });
    }
}
