//! `unstuck cancel`: ends a build.

use std::path::Path;

use unstuck_core::engine::Command;
use unstuck_store::tables::BuildRow;

use super::control::{ControlSession, with_hint};
use crate::args::CancelArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, which};
use crate::render::{Terminal, words};

pub(crate) fn run(
    args: &CancelArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let control = ControlSession::open(dir, terminal, "cancel", args.json)?;
    project::create_runtime()?.block_on(async {
        let store = control.store.as_ref();
        let name = control.project.name();
        let build = which::find_open_build(store, name, args.build).await?;
        // A command that would be refused needs no confirmation.
        let possible = !build.standing && !build.state.has_ended();
        if possible && !control.ask_confirmation(args.yes, &render_confirmation(&build))? {
            return Ok(());
        }
        let sent = control.submit_command(Command::Cancel { build: build.id }).await;
        let sent = sent.map_err(|error| with_hint(error, next_step_hint(&build)))?;
        control.write_result(&sent, &render_result(&build))
    })?;
    Ok(Exit::Done)
}

fn render_confirmation(build: &BuildRow) -> String {
    let left = build.tasks.saturating_sub(build.done + build.not_done);
    let left = words::render_count(left as usize, "task is", "tasks are");
    format!("End build {} for good? {left} not done.", build.id)
}

fn render_result(build: &BuildRow) -> String {
    let id = build.id;
    match build.done {
        0 => format!("Build {id} is ended. Nothing of it was done yet."),
        _ => format!("Build {id} is ended. What is done is kept: `unstuck land {id}` shows it."),
    }
}

const fn next_step_hint(build: &BuildRow) -> &'static str {
    if build.standing {
        "`unstuck skip NAME` leaves out what a job is at"
    } else {
        "`unstuck status` shows where everything stands"
    }
}
