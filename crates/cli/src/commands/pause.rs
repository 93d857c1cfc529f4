//! `unstuck pause`: pauses a build until a person resumes it.

use std::path::Path;

use unstuck_core::engine::{BuildState, Command};

use super::control::{Control, hinted};
use crate::args::Pause;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, which};
use crate::render::Terminal;

pub(crate) fn run(args: &Pause, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let control = Control::open(dir, terminal, "pause", args.json)?;
    project::runtime()?.block_on(async {
        let store = control.store.as_ref();
        let name = control.project.name();
        let build = which::open_build(store, name, args.build).await?;
        let sent = control.send(Command::Pause { build: build.id }).await;
        let sent = sent.map_err(|error| hinted(error, next(build.state)))?;
        let said = format!("Build {} is paused. `unstuck resume` lets it go on.", build.id);
        control.tell(&sent, &said)
    })?;
    Ok(Exit::Done)
}

const fn next(state: BuildState) -> &'static str {
    match state {
        BuildState::Paused { .. } => "`unstuck resume` lets it go on",
        BuildState::Sleeping { .. } => "nothing of it runs; `unstuck cancel` ends it",
        BuildState::Running
        | BuildState::Waiting
        | BuildState::Completed
        | BuildState::Failed
        | BuildState::Cancelled => "`unstuck status` shows where everything stands",
    }
}
