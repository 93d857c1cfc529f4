//! The reports of a guard to its supervisor, and the messages that the guard reads from the init
//! process inside a wall's namespaces: one JSON object per line each.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};

use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize};

use crate::process::ended::{ExceededLimit, StartFailure};
use crate::process::wall::WallEnforcement;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum GuardReport {
    /// The guard has the lock and the program runs, with this much of its wall enforced.
    Started(WallEnforcement),
    /// No program was started, and the guard does not have the lock.
    Refused(GuardRefusal),
    /// No process of the program is left, and the lock is free again. The last report.
    Gone(TreeEnd),
}

/// The reason for which a guard started no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum GuardRefusal {
    /// Another process holds the lock.
    Held,
    /// The lock file cannot be used; the value is the system's error number.
    Lock(i32),
    /// The guard could not be set up; the value is the system's error number.
    Setup(i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::process) struct TreeEnd {
    pub(in crate::process) program: ProgramExit,
    /// `true` if the guard was told to end the program.
    pub(in crate::process) stopped: bool,
    /// Number of processes that the program left behind when it ended by itself.
    pub(in crate::process) leftovers: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum ProgramExit {
    Exited(i32),
    Signalled(i32),
    NotStarted(StartFailure),
    /// The program and its descendants were killed, because they exceeded this limit.
    BeyondLimit(ExceededLimit),
}

/// A message of the init process inside a wall to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum StageMessage {
    /// The wall is enforced this far, and the program runs.
    Started(WallEnforcement),
    /// The program has ended, or was not started.
    Ended(ProgramExit),
}

impl ProgramExit {
    /// Converts a wait status; returns `None` while the program has not ended.
    pub(in crate::process) fn from_wait_status(status: WaitStatus) -> Option<Self> {
        let signal = || status.terminating_signal().map(Self::Signalled);
        status.exit_status().map(Self::Exited).or_else(signal)
    }
}

impl GuardReport {
    pub(super) fn send(self, to: &PipeWriter) {
        send_line(to, &self);
    }
}

impl StageMessage {
    pub(super) fn send(self, to: &PipeWriter) {
        send_line(to, &self);
    }
}

/// Writes a line. A missing reader is no error: the writer ends with it.
fn send_line(mut to: &PipeWriter, message: &impl Serialize) {
    let line = serde_json::to_vec(message).map_err(io::Error::from);
    let _ = line.and_then(|mut line| {
        line.push(b'\n');
        to.write_all(&line)
    });
}

/// The guard's end of the pipe from the init process. Reads do not block.
pub(super) struct StagePipe {
    pipe: PipeReader,
    /// The part of the next line that has arrived.
    line: Vec<u8>,
}

impl StagePipe {
    pub(super) const fn from_pipe(pipe: PipeReader) -> Self {
        Self { pipe, line: Vec::new() }
    }

    pub(super) const fn pipe(&self) -> &PipeReader {
        &self.pipe
    }

    /// Returns the messages since the last call, and whether more may come.
    pub(super) fn read_messages(&mut self) -> (Vec<StageMessage>, bool) {
        let mut bytes = [0; 1_024];
        let more = loop {
            match self.pipe.read(&mut bytes) {
                Ok(0) => break false,
                Ok(length) => self.line.extend(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break false,
            }
        };
        let whole = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = self.line.split_off(whole);
        let lines = std::mem::replace(&mut self.line, rest);
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        (lines.filter_map(|line| serde_json::from_slice(line).ok()).collect(), more)
    }
}
