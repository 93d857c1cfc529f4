//! Runs a program for one message, under the guard and with a timeout.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::undelivered::Undelivered;
use crate::process::{Deadlines, Guard, How, Input, Launch};

/// The environment in which programs run.
#[derive(Clone, Debug)]
pub(super) struct Room {
    pub(super) guard: Guard,
    /// The lock file; at most one program of a channel runs at a time.
    pub(super) lock: PathBuf,
    pub(super) directory: PathBuf,
}

/// The parameters of one run.
pub(super) struct Run {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, Option<OsString>)>,
    pub(super) input: Vec<u8>,
    pub(super) timeout: Duration,
}

impl Room {
    /// Runs the program to its end. Any exit code but 0 is a failure.
    pub(super) async fn run(&self, run: Run) -> Result<(), Undelivered> {
        let name = run.program.to_string_lossy().into_owned();
        let mut launch = Launch::new(self.guard.clone(), &self.lock, &self.directory, run.program);
        launch.arguments = run.arguments;
        launch.environment = run.environment;
        launch.input = Input::Bytes(run.input);
        launch.deadlines = Deadlines { total: Some(run.timeout), ..Deadlines::default() };
        let process = launch.start().await;
        let process = process.map_err(|fault| Undelivered::later(fault.message))?;
        let why = match process.wait().await.how {
            How::Exited(0) => return Ok(()),
            How::NotStarted(_) => {
                return Err(Undelivered::never(format!("{name} cannot be started")));
            }
            How::Exited(status) => format!("{name} ended with {status}"),
            How::Signalled(signal) => format!("{name} was ended by signal {signal}"),
            How::TimedOut { limit, .. } => {
                format!("{name} took longer than {} s", limit.as_secs())
            }
            How::Stopped | How::TooMany { .. } | How::Lost { .. } => format!("{name} was ended"),
        };
        Err(Undelivered::later(why))
    }
}
