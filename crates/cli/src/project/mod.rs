//! The project a command is about: its folder, its store, and whoever holds it.

mod desk;
mod folder;
mod look;

pub(crate) use desk::{current_holder, send, take_answers};
pub(crate) use folder::{Project, holder, now, state_folder};
pub(crate) use look::{task, tasks_of};

use std::io;

use tokio::runtime::{Builder, Runtime};

/// What runs everything that waits. One thread is enough: the work is done by other processes.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
