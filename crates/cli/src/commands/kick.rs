//! `unstuck kick`: ends a wait early.

use std::path::Path;

use unstuck_core::engine::{Command, TaskState};
use unstuck_runner::collect_kick_commands;
use unstuck_store::tables::BuildRow;

use super::control::{CommandEvents, ControlSession, with_hint};
use crate::args::KickArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, which};
use crate::render::{Terminal, words};

pub(crate) fn run(
    args: &KickArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let control = ControlSession::open(dir, terminal, "kick", args.json)?;
    project::create_runtime()?.block_on(async {
        match args.task.as_deref() {
            Some(given) => kick_task(&control, given).await,
            None => kick_all(&control).await,
        }
    })?;
    Ok(Exit::Done)
}

async fn kick_task(control: &ControlSession<'_>, given: &str) -> Result<(), CliError> {
    let task =
        which::find_named_task(control.store.as_ref(), control.project.name(), given).await?;
    let sent = control.submit_command(Command::Kick { task: task.id }).await;
    let sent = sent.map_err(|error| with_hint(error, next_step_hint(&task.moved.state)))?;
    let name = words::task_name(task.id, &task.spec);
    control
        .write_result(&sent, &format!("“{name}” waits no longer. {}", sent.render_continuation()))
}

/// Ends all waits of the newest build that has not ended, or, if there is none, of the jobs.
async fn kick_all(control: &ControlSession<'_>) -> Result<(), CliError> {
    let store = control.store.as_ref();
    let name = control.project.name();
    let builds = store.load_builds(name).await?;
    let open = builds.iter().find(|build| !build.standing && !build.state.has_ended());
    let Some(build) = open.or_else(|| builds.iter().find(|build| build.standing)) else {
        return Err(CliError::NoOpenBuild);
    };
    let rows = store.load_build_tasks(name, build.id).await?;
    let commands = collect_kick_commands(&rows);
    if commands.is_empty() {
        let none = CommandEvents { events: Vec::new(), held: false };
        return control.write_result(&none, &format!("{} waits by itself.", render_nothing(build)));
    }
    let (sent, ended) = control.submit_all(commands).await?;
    control.write_result(&sent, &render_result(build, ended, &sent))
}

fn render_nothing(build: &BuildRow) -> String {
    if build.standing { "No job".to_owned() } else { format!("Nothing of build {}", build.id) }
}

fn render_result(build: &BuildRow, ended: usize, sent: &CommandEvents) -> String {
    let of = if build.standing { "the jobs".to_owned() } else { format!("build {}", build.id) };
    match ended {
        // The waits ended before the commands arrived.
        0 => format!("The waits of {of} were over already."),
        1 => format!("One wait of {of} is over. {}", sent.render_continuation()),
        many => format!("{many} waits of {of} are over. {}", sent.render_continuation()),
    }
}

const fn next_step_hint(state: &TaskState) -> &'static str {
    match state {
        TaskState::Parked { .. } => "it waits for your answer: `unstuck inbox` shows the question",
        TaskState::BackingOff { .. } => "its account is being tried, and it goes on by itself",
        TaskState::Failed { .. } | TaskState::Skipped { .. } | TaskState::Cancelled => {
            "`unstuck retry` has it done after all"
        }
        TaskState::Pending { .. }
        | TaskState::Running { .. }
        | TaskState::Reconciling { .. }
        | TaskState::Done => "only a task that waits by itself can be kicked",
    }
}
