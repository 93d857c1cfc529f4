//! The project of a command: its folder, its store and its holder.

mod channels;
mod child;
mod desk;
mod folder;
pub(crate) mod job;
mod links;
mod look;
pub(crate) mod once;
mod patience;
mod post;
mod seat;
mod signals;
pub(crate) mod which;

pub(crate) use channels::open_channels;
pub(crate) use child::{EnclosingRun, project_of_socket};
pub(crate) use desk::{CommandConnection, current_holder, submit_command, take_answers};
pub(crate) use folder::{LocalProject, current_user, describe_holder, now, user_state_folder};
pub(crate) use look::{find_task, find_tasks};
pub(crate) use post::ProjectConnection;
pub(crate) use seat::{ProjectMessage, ProjectSession};
pub(crate) use signals::{EndSignal, EndSignals};

use std::{env, io};

use rustix::process::{Resource, Rlimit, getpid, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};
use unstuck_world::process::{GuardCommand, find_runs_around, guard};

use crate::error::CliError;

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
