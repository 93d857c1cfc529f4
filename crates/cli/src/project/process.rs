//! This process: its runtime, limits and guard, and the signals that end it.

use std::future::pending;
use std::{env, io};

use rustix::process::{Resource, Rlimit, getpid, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::time::{Instant, sleep_until};
use unstuck_world::process::{GuardCommand, find_runs_around, guard};

use super::folder::LocalProject;
use crate::error::CliError;
use crate::exit::Exit;

/// Minimum limit of open files.
const DESCRIPTORS_MIN: u64 = 64;

/// Creates the async runtime. A single thread is enough, because other processes do the work.
pub(crate) fn create_runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Ensures that the limit of open files is enough for the store, the socket and one command, and raises the
/// soft limit if allowed: a process that reaches the limit later fails in the middle of its work.
pub(crate) fn require_descriptors() -> Result<(), CliError> {
    let limit = getrlimit(Resource::Nofile);
    let Some(allowed) = limit.current.filter(|allowed| *allowed < DESCRIPTORS_MIN) else {
        return Ok(());
    };
    let raised = Rlimit { current: Some(DESCRIPTORS_MIN), ..limit };
    if limit.maximum.is_none_or(|most| most >= DESCRIPTORS_MIN)
        && setrlimit(Resource::Nofile, raised).is_ok()
    {
        return Ok(());
    }
    Err(CliError::Descriptors { allowed, needed: DESCRIPTORS_MIN })
}

/// Returns at this instant; never without one.
pub(crate) async fn sleep_until_some(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}

/// Refuses a command that only a person may give if this process is inside a run of the project: an agent
/// that asks a question must not answer it.
pub(crate) fn refuse_inside_run(
    project: &LocalProject,
    verb: &'static str,
) -> Result<(), CliError> {
    let around = find_runs_around(getpid(), &project.runs_folder());
    if around.is_ok_and(|runs| runs.is_empty()) {
        return Ok(());
    }
    Err(CliError::NotNow {
        verb,
        said:
            "this command was started inside a run of this project, and only a person may do that"
                .to_owned(),
        hint: "do it from a terminal of your own, or on the page of `unstuck serve`".to_owned(),
    })
}

/// Returns this program as the guard of child processes.
pub(crate) fn own_guard() -> Result<GuardCommand, CliError> {
    let executable = env::current_exe()
        .map_err(|source| CliError::Folder { place: "this program".to_owned(), source })?;
    Ok(GuardCommand { executable, arguments: vec![guard::ARGUMENT.into()] })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndSignal {
    /// SIGINT, from the keyboard.
    Interrupted,
    /// SIGTERM, or SIGHUP because the terminal is gone.
    Terminated,
}

impl EndSignal {
    pub(crate) const fn to_exit(self) -> Exit {
        match self {
            Self::Interrupted => Exit::Interrupted,
            Self::Terminated => Exit::Terminated,
        }
    }
}

pub(crate) struct EndSignals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: unix::Signal,
}

impl EndSignals {
    pub(crate) fn new() -> Result<Self, CliError> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.interrupt.recv() => EndSignal::Interrupted,
            _ = self.terminate.recv() => EndSignal::Terminated,
            _ = self.hangup.recv() => EndSignal::Terminated,
        }
    }
}
