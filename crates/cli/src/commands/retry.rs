//! `unstuck retry`: revives a task that ended without success.

use std::path::Path;

use unstuck_core::engine::{Command, Event, TaskState};
use unstuck_store::tables::TaskRow;

use super::control::{CommandEvents, ControlSession, with_hint};
use crate::args::RetryArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, which};
use crate::render::{Terminal, words};

pub(crate) fn run(
    args: &RetryArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let control = ControlSession::open(dir, terminal, "retry", args.json)?;
    project::create_runtime()?.block_on(async {
        let store = control.store.as_ref();
        let name = control.project.name();
        let task = which::find_named_task(store, name, &args.task).await?;
        let sent = control.submit_command(Command::Retry { task: task.id }).await;
        let sent = sent.map_err(|error| with_hint(error, next_step_hint(&task)))?;
        control.write_result(&sent, &render_result(&task, &sent))
    })?;
    Ok(Exit::Done)
}

fn render_result(task: &TaskRow, sent: &CommandEvents) -> String {
    let revived = |event: &Event| matches!(event, Event::TaskRevived { .. });
    let others = sent.events.iter().filter(|r| revived(&r.event)).count().saturating_sub(1);
    let with = match others {
        0 => String::new(),
        1 => ", and 1 task that needs it".to_owned(),
        many => format!(", and {many} tasks that need it"),
    };
    let name = words::task_name(task.id, &task.spec);
    format!("“{name}” is to be done after all{with}. {}", sent.render_continuation())
}

fn next_step_hint(task: &TaskRow) -> &'static str {
    match task.moved.state {
        TaskState::Parked { .. } => "it waits for your answer: `unstuck inbox` shows the question",
        TaskState::BackingOff { .. } => "`unstuck kick` ends its wait",
        _ if task.spec.job.is_some() => "a job is run again, not retried: `unstuck exec`",
        TaskState::Skipped { .. } => "retry the task it needs first: `unstuck status` shows it",
        TaskState::Pending { .. }
        | TaskState::Running { .. }
        | TaskState::Reconciling { .. }
        | TaskState::Done
        | TaskState::Failed { .. }
        | TaskState::Cancelled => "only a task that ended without success can be retried",
    }
}
