//! `unstuck cancel`: ends a build.

use std::path::Path;

use unstuck_core::engine::Command;
use unstuck_store::tables::BuildRow;

use super::control::{Control, hinted};
use crate::args::Cancel;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, which};
use crate::render::{Terminal, words};

pub(crate) fn run(args: &Cancel, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let control = Control::open(dir, terminal, "cancel", args.json)?;
    project::runtime()?.block_on(async {
        let store = control.store.as_ref();
        let name = control.project.name();
        let build = which::open_build(store, name, args.build).await?;
        // A command that would be refused needs no confirmation.
        let possible = !build.standing && !build.state.has_ended();
        if possible && !control.agreed(args.yes, &question(&build))? {
            return Ok(());
        }
        let sent = control.send(Command::Cancel { build: build.id }).await;
        let sent = sent.map_err(|error| hinted(error, next(&build)))?;
        control.tell(&sent, &said(&build))
    })?;
    Ok(Exit::Done)
}

fn question(build: &BuildRow) -> String {
    let left = build.tasks.saturating_sub(build.done + build.not_done);
    let left = words::number(left as usize, "task is", "tasks are");
    format!("End build {} for good? {left} not done.", build.id)
}

fn said(build: &BuildRow) -> String {
    let id = build.id;
    match build.done {
        0 => format!("Build {id} is ended. Nothing of it was done yet."),
        _ => format!("Build {id} is ended. What is done is kept: `unstuck land {id}` shows it."),
    }
}

const fn next(build: &BuildRow) -> &'static str {
    if build.standing {
        "`unstuck skip NAME` leaves out what a job is at"
    } else {
        "`unstuck status` shows where everything stands"
    }
}
