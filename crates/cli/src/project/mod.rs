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
pub(crate) use child::Child;
pub(crate) use desk::{Line, current_holder, send, take_answers};
pub(crate) use folder::{Project, holder, now, state_folder, whoever};
pub(crate) use look::{task, tasks_of};
pub(crate) use post::Post;
pub(crate) use seat::{Heard, Seat};
pub(crate) use signals::{Signal, Signals};

use std::{env, io};

use tokio::runtime::{Builder, Runtime};
use unstuck_world::process::{Guard, guard};

use crate::error::Error;

/// What runs everything that waits. One thread is enough: the work is done by other processes.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// This program as the guard of others.
pub(crate) fn own_guard() -> Result<Guard, Error> {
    let executable = env::current_exe()
        .map_err(|source| Error::Folder { place: "this program".to_owned(), source })?;
    Ok(Guard { executable, arguments: vec![guard::ARGUMENT.into()] })
}
