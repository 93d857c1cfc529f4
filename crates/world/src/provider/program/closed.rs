//! The end of a program's run, and its interpretation if the program did not report it itself.

use std::time::Duration;

use unstuck_core::fault::{Crash, Fault, Internal, Missing, Provider, Timeout, Tool};
use unstuck_core::time::Span;

use super::text::clip;
use crate::agent::End;
use crate::process::{Deadline, How, NotStarted, last_lines};

/// Maximum number of bytes of a program's own explanation in a fault.
const MESSAGE_BYTES_MAX: usize = 2 * 1_024;
/// Lowest exit code that stands for a signal, as in a shell.
const SIGNAL_STATUS_MIN: i32 = 128;

/// The end of a run.
#[derive(Debug)]
pub(in crate::provider) enum Closed {
    /// The conversation ended, successfully or not.
    Over,
    /// The caller asked for it.
    Stopped,
    /// A deadline passed.
    TimedOut { which: Deadline, limit: Duration },
    /// The program ended first.
    Ended(Gone),
    /// No program was started.
    NotStarted(Box<Fault>),
}

impl Closed {
    /// Returns how the agent ended: as its program reported, unless Unstuck ended the run or the
    /// program ended first.
    pub(in crate::provider) fn end(self, said: Option<&End>, name: &str) -> End {
        let fault = match self {
            Self::Over => match said {
                Some(said) => return said.clone(),
                None => Fault::provider_crash(name, "it ended without a word", Crash::default()),
            },
            Self::Stopped => return End::Stopped,
            Self::TimedOut { which, limit } => timed_out(which, limit, name),
            Self::Ended(gone) => gone.fault(name),
            Self::NotStarted(fault) => *fault,
        };
        End::Failed(Box::new(fault))
    }
}

/// A program that ended before the conversation did.
#[derive(Debug)]
pub(in crate::provider) struct Gone {
    pub(super) how: How,
    /// `true` if it had written a line.
    pub(super) heard: bool,
    /// The end of its standard error.
    pub(super) complaint: String,
}

impl Gone {
    /// Returns whether the program refused to start: it exited by itself, with an error, and
    /// without a line of output.
    pub(in crate::provider) const fn refused(&self) -> bool {
        matches!(self.how, How::Exited(1..SIGNAL_STATUS_MIN)) && !self.heard
    }

    /// Returns the fault of program `name`.
    fn fault(&self, name: &str) -> Fault {
        match self.how {
            How::NotStarted(reason) => not_started(reason, name),
            How::Exited(status) if self.refused() => {
                let provider = Provider { name: name.to_owned(), model: None };
                let message = self.message(&format!("it did not begin (status {status})"));
                Fault::provider_not_available(name, message, provider)
            }
            How::Exited(status) => {
                let crash = Crash { exit: Some(status), signal: None };
                let what = format!("it ended with status {status} in the middle of its work");
                Fault::provider_crash(name, self.message(&what), crash)
            }
            How::Signalled(signal) => {
                let crash = Crash { exit: None, signal: Some(signal) };
                let message = self.message(&format!("it was ended by signal {signal}"));
                Fault::provider_crash(name, message, crash)
            }
            How::TooMany { allowed } => {
                let message = format!(
                    "it had more than {allowed} processes and threads at a time and was ended; \
                     `wall.processes` sets how many there may be"
                );
                Fault::provider_crash(name, message, Crash::default())
            }
            How::Lost { tree_gone: false } => {
                let message = format!("the guard of {name} was killed, and {name} goes on");
                Fault::internal_error(name, message, Internal { component: "process".to_owned() })
            }
            How::Lost { tree_gone: true } | How::Stopped | How::TimedOut { .. } => {
                let message = self.message("it was ended together with its guard");
                Fault::provider_crash(name, message, Crash::default())
            }
        }
    }

    fn message(&self, what: &str) -> String {
        match last_lines(self.complaint.trim(), MESSAGE_BYTES_MAX) {
            "" => what.to_owned(),
            said => format!("{what}: {said}"),
        }
    }
}

fn not_started(reason: NotStarted, name: &str) -> Fault {
    let provider = Provider { name: name.to_owned(), model: None };
    let missing = |what: &str| Fault::provider_not_available(name, what, provider);
    match reason {
        NotStarted::NotFound => missing("there is no such program"),
        NotStarted::AccessDenied => missing("the program may not be executed"),
        NotStarted::Other(number) => {
            missing(&format!("the program cannot be started (error {number})"))
        }
        NotStarted::NoWall => {
            let what = "the wall around the agent".to_owned();
            let message =
                "the wall around it could not be put up; `unstuck doctor --wall` says why";
            Fault::precondition_missing(name, message, Missing { what })
        }
        NotStarted::DirectoryMissing => {
            let what = "the directory to work in".to_owned();
            Fault::precondition_missing(name, "there is no directory to work in", Missing { what })
        }
        NotStarted::NoRoom => {
            let tool = Tool { command: Some(name.to_owned()), ..Tool::default() };
            Fault::env_unavailable(name, "there is no room for another process", tool)
        }
    }
}

/// Returns the fault of a deadline that passed.
fn timed_out(which: Deadline, limit: Duration, name: &str) -> Fault {
    let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let span = Span::from_millis(limit_ms);
    let message = match which {
        Deadline::FirstByte => format!("nothing was heard of it for {span}"),
        Deadline::Idle => format!("nothing more was heard of it for {span}"),
        Deadline::Total => format!("it took longer than {span}"),
    };
    Fault::iteration_timeout(name, message, Timeout { operation: name.to_owned(), limit_ms })
}

/// Returns a program's message about its failure, limited in length.
pub(in crate::provider) fn message(said: &str) -> String {
    clip(said, MESSAGE_BYTES_MAX)
}
