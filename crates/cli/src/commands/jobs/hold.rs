//! `unstuck jobs pause` and `resume`: suspends the schedule of a job, or resumes it.

use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Command, TaskId};

use super::defined::{ConfiguredJobs, find_job_rows, job_spec};
use crate::build::project_redactor;
use crate::commands::control::ControlSession;
use crate::error::{CliError, JobsError};
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::Terminal;

pub(super) fn run(
    dir: Option<&Path>,
    name: &str,
    hold: bool,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    // A job may be paused before anything was ever run.
    LocalProject::find(dir)?.open_or_create_store()?;
    let verb = if hold { "pause" } else { "resume" };
    let control = ControlSession::open(dir, terminal, verb, json)?;
    project::create_runtime()?.block_on(async {
        let task = find_or_define_task(&control, name).await?;
        let command = if hold { Command::HoldJob { task } } else { Command::ReleaseJob { task } };
        let sent = control.submit_command(command).await?;
        let said = match (hold, sent.events.is_empty()) {
            (true, false) => format!("“{name}” is paused. `unstuck jobs resume {name}` ends that."),
            (true, true) => format!("“{name}” is paused already."),
            (false, false) => format!("“{name}” runs at its times again."),
            (false, true) => format!("“{name}” is not paused."),
        };
        control.write_result(&sent, &said)
    })?;
    Ok(Exit::Done)
}

/// Returns the job of the settings, or one that only `exec` has defined.
async fn find_or_define_task(control: &ControlSession<'_>, name: &str) -> Result<TaskId, CliError> {
    let find = || find_job_rows(control.store.as_ref(), control.project.name());
    if let Some(row) = find().await?.get(name) {
        return Ok(row.id);
    }
    let defined = ConfiguredJobs::from_project(&control.project)?;
    let spec = Arc::new(job_spec(defined.find(name)?, &project_redactor(&control.project)));
    control.submit_command(Command::DefineJob { spec }).await?;
    let row = find().await?.remove(name);
    row.map(|row| row.id)
        .ok_or_else(|| JobsError::NoSuchJob { name: name.to_owned(), near: Vec::new() }.into())
}
