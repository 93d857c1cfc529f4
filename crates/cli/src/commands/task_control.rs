//! The verbs that control a task: `unstuck kick` ends a wait early, `unstuck retry` revives a task that ended
//! without success, `unstuck skip` leaves out a task and the tasks that depend on it.

use std::collections::BTreeSet;

use unstuck_core::engine::{Command, Event, TaskState};
use unstuck_runner::collect_kick_commands;
use unstuck_store::tables::{BuildRow, TaskRow};

use super::control::ControlSession;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{CommandEvents, which};
use crate::render::words;

/// End a wait early and try now
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Ends a wait early: a pause between two tries, or the wait for a limited account. \
        If several tasks wait for one account, one of them tries first. Without a task, every wait \
        of the newest build ends. It does not count as a failure; if it was too early, the wait \
        starts again.",
    after_long_help = KICK_EXAMPLES
)]
pub(crate) struct KickArgs {
    /// The task: its number (`12`, `t12`), its name or the beginning of its name
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// Write the resulting events as JSON
    #[arg(long)]
    json: bool,
}

const KICK_EXAMPLES: &str = "\
Examples:
  unstuck kick                       everything that waits
  unstuck kick importer              one task or job, by its name
  unstuck kick t12                   or by its number";

pub(crate) fn kick(args: &KickArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    ControlSession::run(context, "kick", args.json, async |control| match args.task.as_deref() {
        Some(given) => kick_task(control, given).await,
        None => kick_all(control).await,
    })
}

async fn kick_task(control: &ControlSession<'_>, given: &str) -> Result<(), CliError> {
    let task =
        which::find_named_task(control.store.as_ref(), control.project.name(), given).await?;
    let command = Command::Kick { task: task.id };
    let sent = control.submit_command(command, kick_hint(&task.moved.state)).await?;
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
        return control.write_result(&none, &render_nothing(build));
    }
    let (sent, ended) = control.submit_all(commands).await?;
    control.write_result(&sent, &render_kick_result(build, ended, &sent))
}

fn render_nothing(build: &BuildRow) -> String {
    if build.standing {
        return "The jobs have no wait to end.".to_owned();
    }
    format!("Build {} has no wait to end.", build.id)
}

fn render_kick_result(build: &BuildRow, ended: usize, sent: &CommandEvents) -> String {
    let of = if build.standing { "the jobs".to_owned() } else { format!("build {}", build.id) };
    match ended {
        // The waits ended before the commands arrived.
        0 => format!("The waits of {of} were over already."),
        1 => format!("One wait of {of} is over. {}", sent.render_continuation()),
        many => format!("{many} waits of {of} are over. {}", sent.render_continuation()),
    }
}

const fn kick_hint(state: &TaskState) -> &'static str {
    match state {
        TaskState::Parked { .. } => "it waits for your answer: `unstuck inbox` shows the question",
        TaskState::BackingOff { .. } => "its account is being tried; it continues by itself",
        TaskState::Failed { .. } | TaskState::Skipped { .. } | TaskState::Cancelled => {
            "`unstuck retry` has it done after all"
        }
        TaskState::Pending { .. }
        | TaskState::Running { .. }
        | TaskState::Reconciling { .. }
        | TaskState::Done => "only a task that waits by itself can be kicked",
    }
}

/// Retry a task that failed, was skipped or was cancelled
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Schedules a task again that failed, was skipped or was cancelled, together with \
        the tasks that were skipped because they need it. A build that has ended continues for \
        that.",
    after_long_help = RETRY_EXAMPLES
)]
pub(crate) struct RetryArgs {
    /// The task: its number (`12`, `t12`), its name or the beginning of its name
    #[arg(value_name = "TASK")]
    task: String,

    /// Write the resulting events as JSON
    #[arg(long)]
    json: bool,
}

const RETRY_EXAMPLES: &str = "\
Examples:
  unstuck retry importer             by its name
  unstuck retry t12                  by its number";

pub(crate) fn retry(args: &RetryArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    ControlSession::run(context, "retry", args.json, async |control| {
        let store = control.store.as_ref();
        let task = which::find_named_task(store, control.project.name(), &args.task).await?;
        let command = Command::Retry { task: task.id };
        let sent = control.submit_command(command, retry_hint(&task)).await?;
        control.write_result(&sent, &render_retry_result(&task, &sent))
    })
}

fn render_retry_result(task: &TaskRow, sent: &CommandEvents) -> String {
    let with = render_others(sent, |event| matches!(event, Event::TaskRevived { .. }));
    let name = words::task_name(task.id, &task.spec);
    format!("“{name}” is scheduled again{with}. {}", sent.render_continuation())
}

fn retry_hint(task: &TaskRow) -> &'static str {
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

/// Skip a task and the tasks that need it
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Skips a task and every task that needs it. A question that only they waited for \
        is withdrawn. `unstuck retry` undoes it. It asks for confirmation; without a terminal it \
        needs --yes.",
    after_long_help = SKIP_EXAMPLES
)]
pub(crate) struct SkipArgs {
    /// The task: its number (`12`, `t12`), its name or the beginning of its name
    #[arg(value_name = "TASK")]
    task: String,

    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,

    /// Write the resulting events as JSON
    #[arg(long)]
    json: bool,
}

const SKIP_EXAMPLES: &str = "\
Examples:
  unstuck skip importer              by its name
  unstuck skip t12 --yes             by its number, without confirmation";

pub(crate) fn skip(args: &SkipArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    ControlSession::run(context, "skip", args.json, async |control| {
        let store = control.store.as_ref();
        let name = control.project.name();
        let task = which::find_named_task(store, name, &args.task).await?;
        let others = count_dependents(&task, &store.load_build_tasks(name, task.build).await?);
        // A command that would be refused needs no confirmation.
        let possible = !task.moved.state.has_ended();
        if possible && !control.ask_confirmation(args.yes, &render_skip_question(&task, others))? {
            return Ok(());
        }
        let command = Command::Skip { task: task.id };
        let sent = control.submit_command(command, skip_hint(&task.moved.state)).await?;
        control.write_result(&sent, &render_skip_result(&task, &sent))
    })
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

fn render_skip_question(task: &TaskRow, others: usize) -> String {
    let name = words::task_name(task.id, &task.spec);
    let with = match others {
        0 => String::new(),
        1 => " 1 task that needs it is skipped too.".to_owned(),
        many => format!(" {many} tasks that need it are left out too."),
    };
    format!("Leave out “{name}”?{with}")
}

fn render_skip_result(task: &TaskRow, sent: &CommandEvents) -> String {
    let with = render_others(sent, |event| matches!(event, Event::TaskSkipped { .. }));
    let name = words::task_name(task.id, &task.spec);
    let next = match task.spec.job {
        Some(_) => "Running its command again begins anew.".to_owned(),
        None => format!("`unstuck retry {}` undoes that.", task.id),
    };
    format!("“{name}” is skipped{with}. {next}")
}

const fn skip_hint(state: &TaskState) -> &'static str {
    match state {
        TaskState::Done => "what is done stays done",
        TaskState::Skipped { .. } | TaskState::Failed { .. } | TaskState::Cancelled => {
            "it is not done anyway; `unstuck retry` has it done after all"
        }
        TaskState::Pending { .. }
        | TaskState::Running { .. }
        | TaskState::BackingOff { .. }
        | TaskState::Reconciling { .. } => "try again in a moment, when that step has ended",
        TaskState::Parked { .. } => "answer its question first: `unstuck inbox` shows it",
    }
}

/// Formats how many more tasks the command changed: each event that `is_change` matches is one.
fn render_others(sent: &CommandEvents, is_change: impl Fn(&Event) -> bool) -> String {
    match sent.events.iter().filter(|recorded| is_change(&recorded.event)).count() {
        0 | 1 => String::new(),
        2 => ", and 1 task that needs it".to_owned(),
        many => format!(", and {} tasks that need it", many - 1),
    }
}
