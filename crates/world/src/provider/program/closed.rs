//! The end of a program's run, and its interpretation if the program did not report it itself.

use std::time::Duration;

use unstuck_core::fault::{Crash, Fault, Internal, Missing, Provider, Timeout, Tool};
use unstuck_core::text::{SILENT, UNHEARD};
use unstuck_core::time::Span;

use super::stream::clip_text;
use crate::agent::AgentEnd;
use crate::process::{Deadline, ProcessEnd, StartFailure, last_lines};

/// Maximum number of bytes of a program's own explanation in a fault.
const MESSAGE_BYTES_MAX: usize = 2 * 1_024;
/// Lowest exit code that stands for a signal, as in a shell.
const SIGNAL_STATUS_MIN: i32 = 128;

#[derive(Debug)]
pub(in crate::provider) enum ProgramRunEnd {
    /// The conversation ended, successfully or not.
    Over,
    /// The caller asked for it.
    Stopped,
    /// A deadline passed.
    TimedOut { which: Deadline, limit: Duration },
    /// The program ended first.
    Ended(EarlyExit),
    /// No program was started.
    NotStarted(Box<Fault>),
}

impl ProgramRunEnd {
    /// Returns how the agent ended: as its program reported, unless Unstuck ended the run or the
    /// program ended first.
    pub(in crate::provider) fn into_agent_end(
        self,
        said: Option<&AgentEnd>,
        name: &str,
    ) -> AgentEnd {
        let fault = match self {
            Self::Over => match said {
                Some(said) => return said.clone(),
                None => Fault::provider_crash(name, "it ended without a word", Crash::default()),
            },
            Self::Stopped => return AgentEnd::Stopped,
            Self::TimedOut { which, limit } => timeout_fault(which, limit, name),
            Self::Ended(gone) => gone.to_fault(name),
            Self::NotStarted(fault) => *fault,
        };
        AgentEnd::Failed(Box::new(fault))
    }
}

/// A program that ended before the conversation did.
#[derive(Debug)]
pub(in crate::provider) struct EarlyExit {
    pub(super) how: ProcessEnd,
    /// `true` if it had written a line.
    pub(super) heard: bool,
    /// The end of its standard error.
    pub(super) complaint: String,
}

impl EarlyExit {
    /// Returns whether the program refused to start: it exited by itself, with an error, and
    /// without a line of output.
    pub(in crate::provider) const fn has_refused_start(&self) -> bool {
        matches!(self.how, ProcessEnd::Exited(1..SIGNAL_STATUS_MIN)) && !self.heard
    }

    fn to_fault(&self, name: &str) -> Fault {
        match self.how {
            ProcessEnd::NotStarted(reason) => not_started_fault(reason, name),
            ProcessEnd::Exited(status) if self.has_refused_start() => {
                let provider = Provider { name: name.to_owned(), model: None };
                let message = self.describe_failure(&format!("it did not begin (status {status})"));
                Fault::provider_not_available(name, message, provider)
            }
            ProcessEnd::Exited(status) => {
                let crash = Crash { exit: Some(status), signal: None };
                let what = format!("it ended with status {status} in the middle of its work");
                Fault::provider_crash(name, self.describe_failure(&what), crash)
            }
            ProcessEnd::Signalled(signal) => {
                let crash = Crash { exit: None, signal: Some(signal) };
                let message = self.describe_failure(&format!("it was ended by signal {signal}"));
                Fault::provider_crash(name, message, crash)
            }
            ProcessEnd::BeyondLimit(limit) => limit.to_agent_fault(name),
            ProcessEnd::Lost { tree_gone: false } => {
                let message = format!("the guard of {name} was killed, and {name} goes on");
                Fault::internal_error(name, message, Internal { component: "process".to_owned() })
            }
            ProcessEnd::Lost { tree_gone: true }
            | ProcessEnd::Stopped
            | ProcessEnd::TimedOut { .. } => {
                let message = self.describe_failure("it was ended together with its guard");
                Fault::provider_crash(name, message, Crash::default())
            }
        }
    }

    fn describe_failure(&self, what: &str) -> String {
        match last_lines(self.complaint.trim(), MESSAGE_BYTES_MAX) {
            "" => what.to_owned(),
            said => format!("{what}: {said}"),
        }
    }
}

fn not_started_fault(reason: StartFailure, name: &str) -> Fault {
    let provider = Provider { name: name.to_owned(), model: None };
    let missing = |what: &str| Fault::provider_not_available(name, what, provider);
    match reason {
        StartFailure::NotFound => missing("there is no such program"),
        StartFailure::AccessDenied => missing("the program may not be executed"),
        StartFailure::Other(number) => {
            missing(&format!("the program cannot be started (error {number})"))
        }
        StartFailure::NoWall => {
            let what = "the wall around the agent".to_owned();
            let message =
                "the wall around it could not be put up; `unstuck doctor --wall` says why";
            Fault::precondition_missing(name, message, Missing { what })
        }
        StartFailure::DirectoryMissing => {
            let what = "the directory to work in".to_owned();
            Fault::precondition_missing(name, "there is no directory to work in", Missing { what })
        }
        StartFailure::NoRoom => {
            let tool = Tool { command: Some(name.to_owned()), ..Tool::default() };
            Fault::env_unavailable(name, "there is no room for another process", tool)
        }
    }
}

fn timeout_fault(which: Deadline, limit: Duration, name: &str) -> Fault {
    let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let span = Span::from_millis(limit_ms);
    let message = match which {
        Deadline::FirstByte => format!("{UNHEARD}{span}"),
        Deadline::Idle => format!("{SILENT}{span}"),
        Deadline::Total => format!("it took longer than {span}"),
    };
    Fault::iteration_timeout(name, message, Timeout { operation: name.to_owned(), limit_ms })
}

/// Returns a program's message about its failure, limited in length.
pub(in crate::provider) fn clip_message(said: &str) -> String {
    clip_text(said, MESSAGE_BYTES_MAX)
}
