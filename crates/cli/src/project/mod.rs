//! The project a command is about: its folder, its store, and whoever holds it.

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

pub(crate) use channels::channels;
pub(crate) use child::{Child, project_of_socket};
pub(crate) use desk::{Line, current_holder, send, take_answers};
pub(crate) use folder::{Project, holder, now, state_folder, whoever};
pub(crate) use look::{task, tasks_of};
pub(crate) use post::Post;
pub(crate) use seat::{Heard, Seat};
pub(crate) use signals::{Signal, Signals};

use std::{env, io};

use rustix::process::{Resource, Rlimit, getpid, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};
use unstuck_world::process::{Guard, find_runs_around, guard};

use crate::error::Error;

/// So many files have to be allowed to be open at once.
const DESCRIPTORS_MIN: u64 = 64;

/// What runs everything that waits. One thread is enough: the work is done by other processes.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// That as many files may be open at once as the store, the socket and one command need. Where that
/// is ours to change it is changed; what comes to its limit in the middle of something fails there.
pub(crate) fn require_descriptors() -> Result<(), Error> {
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
    Err(Error::Descriptors { allowed, needed: DESCRIPTORS_MIN })
}

/// Refuses what only a person may do where this process lives in a run of the project: an agent that
/// asks a question must not answer it.
pub(crate) fn refuse_inside_run(project: &Project, verb: &'static str) -> Result<(), Error> {
    let around = find_runs_around(getpid(), &project.runs());
    if around.is_ok_and(|runs| runs.is_empty()) {
        return Ok(());
    }
    Err(Error::NotNow {
        verb,
        said:
            "this command was started inside a run of this project, and only a person may do that"
                .to_owned(),
        hint: "do it from a terminal of your own, or on the page of `unstuck serve`".to_owned(),
    })
}

/// This program as the guard of others.
pub(crate) fn own_guard() -> Result<Guard, Error> {
    let executable = env::current_exe()
        .map_err(|source| Error::Folder { place: "this program".to_owned(), source })?;
    Ok(Guard { executable, arguments: vec![guard::ARGUMENT.into()] })
}
