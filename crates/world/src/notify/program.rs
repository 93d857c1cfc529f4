//! Runs a program for one message, under the guard and with a timeout.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::undelivered::DeliveryError;
use crate::process::{GuardCommand, Launch, ProcessDeadlines, ProcessEnd, ProcessInput};

/// The environment in which programs run.
#[derive(Clone, Debug)]
pub(super) struct ProgramRunner {
    pub(super) guard: GuardCommand,
    /// The lock file; at most one program of a channel runs at a time.
    pub(super) lock: PathBuf,
    pub(super) directory: PathBuf,
}

/// The parameters of one run.
pub(super) struct ProgramCall {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, Option<OsString>)>,
    pub(super) input: Vec<u8>,
    pub(super) timeout: Duration,
}

impl ProgramRunner {
    /// Runs the program to its end. Any exit code but 0 is a failure.
    pub(super) async fn run(&self, run: ProgramCall) -> Result<(), DeliveryError> {
        let name = run.program.to_string_lossy().into_owned();
        let mut launch = Launch::new(self.guard.clone(), &self.lock, &self.directory, run.program);
        launch.arguments = run.arguments;
        launch.environment = run.environment;
        launch.input = ProcessInput::Bytes(run.input);
        launch.deadlines =
            ProcessDeadlines { total: Some(run.timeout), ..ProcessDeadlines::default() };
        let process = launch.start().await;
        let process = process.map_err(|fault| DeliveryError::later(fault.message))?;
        let why = match process.wait().await.how {
            ProcessEnd::Exited(0) => return Ok(()),
            ProcessEnd::NotStarted(_) => {
                return Err(DeliveryError::never(format!("{name} cannot be started")));
            }
            ProcessEnd::Exited(status) => format!("{name} ended with {status}"),
            ProcessEnd::Signalled(signal) => format!("{name} was ended by signal {signal}"),
            ProcessEnd::TimedOut { limit, .. } => {
                format!("{name} took longer than {} s", limit.as_secs())
            }
            ProcessEnd::Stopped | ProcessEnd::TooMany { .. } | ProcessEnd::Lost { .. } => {
                format!("{name} was ended")
            }
        };
        Err(DeliveryError::later(why))
    }
}
