//! `unstuck skip`: leaves out a task and the tasks that depend on it.

use std::collections::BTreeSet;
use std::path::Path;

use unstuck_core::engine::{Command, Event, TaskState};
use unstuck_store::tables::TaskRow;

use super::control::{CommandEvents, ControlSession, with_hint};
use crate::args::SkipArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, which};
use crate::render::{Terminal, words};

pub(crate) fn run(
    args: &SkipArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let control = ControlSession::open(dir, terminal, "skip", args.json)?;
    project::create_runtime()?.block_on(async {
        let store = control.store.as_ref();
        let name = control.project.name();
        let task = which::find_named_task(store, name, &args.task).await?;
        let others = count_dependents(&task, &store.load_build_tasks(name, task.build).await?);
        // A command that would be refused needs no confirmation.
        let possible = !task.moved.state.has_ended();
        if possible && !control.ask_confirmation(args.yes, &render_confirmation(&task, others))? {
            return Ok(());
        }
        let sent = control.submit_command(Command::Skip { task: task.id }).await;
        let sent = sent.map_err(|error| with_hint(error, next_step_hint(&task.moved.state)))?;
        control.write_result(&sent, &render_result(&task, &sent))
    })?;
    Ok(Exit::Done)
}

/// Returns how many tasks that have not ended depend on the task, directly or through others.
fn count_dependents(task: &TaskRow, rows: &[TaskRow]) -> usize {
    let mut gone = BTreeSet::from([task.spec.name.as_str()]);
    loop {
        let needs = |row: &&TaskRow| {
            let needed = row.spec.depends_on.iter().any(|name| gone.contains(name.as_str()));
            needed && !row.moved.state.has_ended() && !gone.contains(row.spec.name.as_str())
        };
        let more: Vec<&str> = rows.iter().filter(needs).map(|row| row.spec.name.as_str()).collect();
        if more.is_empty() {
            return gone.len() - 1;
        }
        gone.extend(more);
    }
}

fn render_confirmation(task: &TaskRow, others: usize) -> String {
    let name = words::task_name(task.id, &task.spec);
    let with = match others {
        0 => String::new(),
        1 => " 1 task that needs it is left out too.".to_owned(),
        many => format!(" {many} tasks that need it are left out too."),
    };
    format!("Leave out “{name}”?{with}")
}

fn render_result(task: &TaskRow, sent: &CommandEvents) -> String {
    let skipped = |event: &Event| matches!(event, Event::TaskSkipped { .. });
    let others = sent.events.iter().filter(|r| skipped(&r.event)).count().saturating_sub(1);
    let with = match others {
        0 => String::new(),
        1 => ", and 1 task that needs it".to_owned(),
        many => format!(", and {many} tasks that need it"),
    };
    let name = words::task_name(task.id, &task.spec);
    format!("“{name}” is left out{with}. `unstuck retry {}` takes it back.", task.id)
}

const fn next_step_hint(state: &TaskState) -> &'static str {
    match state {
        TaskState::Done => "what is done stays done",
        TaskState::Skipped { .. } | TaskState::Failed { .. } | TaskState::Cancelled => {
            "it is not done anyway; `unstuck retry` has it done after all"
        }
        TaskState::Pending { .. }
        | TaskState::Running { .. }
        | TaskState::BackingOff { .. }
        | TaskState::Parked { .. }
        | TaskState::Reconciling { .. } => "try again in a moment, when that step has ended",
    }
}
