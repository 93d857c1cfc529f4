//! `unstuck pause`: pauses a build until a person resumes it.

use std::path::Path;

use unstuck_core::engine::{BuildState, Command};

use super::control::{ControlSession, with_hint};
use crate::args::PauseArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, which};
use crate::render::Terminal;

pub(crate) fn run(
    args: &PauseArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let control = ControlSession::open(dir, terminal, "pause", args.json)?;
    project::create_runtime()?.block_on(async {
        let store = control.store.as_ref();
        let name = control.project.name();
        let build = which::find_open_build(store, name, args.build).await?;
        let sent = control.submit_command(Command::Pause { build: build.id }).await;
        let sent = sent.map_err(|error| with_hint(error, next_step_hint(build.state)))?;
        let said = format!("Build {} is paused. `unstuck resume` lets it go on.", build.id);
        control.write_result(&sent, &said)
    })?;
    Ok(Exit::Done)
}

const fn next_step_hint(state: BuildState) -> &'static str {
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
