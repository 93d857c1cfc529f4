//! `unstuck jobs pause` and `resume`: suspends the schedule of a job, or resumes it.

use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Command, TaskId};

use super::defined::{Defined, find_rows, spec};
use crate::build::redactor;
use crate::commands::control::Control;
use crate::error::{Error, JobsError};
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::Terminal;

pub(super) fn run(
    dir: Option<&Path>,
    name: &str,
    hold: bool,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, Error> {
    // A job may be paused before anything was ever run.
    Project::find(dir)?.make_store()?;
    let verb = if hold { "pause" } else { "resume" };
    let control = Control::open(dir, terminal, verb, json)?;
    project::runtime()?.block_on(async {
        let task = task(&control, name).await?;
        let command = if hold { Command::HoldJob { task } } else { Command::ReleaseJob { task } };
        let sent = control.send(command).await?;
        let said = match (hold, sent.events.is_empty()) {
            (true, false) => format!("“{name}” is paused. `unstuck jobs resume {name}` ends that."),
            (true, true) => format!("“{name}” is paused already."),
            (false, false) => format!("“{name}” runs at its times again."),
            (false, true) => format!("“{name}” is not paused."),
        };
        control.tell(&sent, &said)
    })?;
    Ok(Exit::Done)
}

/// Returns the job of the settings, or one that only `exec` has defined.
async fn task(control: &Control<'_>, name: &str) -> Result<TaskId, Error> {
    let find = || find_rows(control.store.as_ref(), control.project.name());
    if let Some(row) = find().await?.get(name) {
        return Ok(row.id);
    }
    let defined = Defined::read(&control.project)?;
    let spec = Arc::new(spec(defined.find(name)?, &redactor(&control.project)));
    control.send(Command::DefineJob { spec }).await?;
    let row = find().await?.remove(name);
    row.map(|row| row.id)
        .ok_or_else(|| JobsError::NoSuchJob { name: name.to_owned(), near: Vec::new() }.into())
}
