//! `unstuck kick`: ends a wait early.

use std::path::Path;

use unstuck_core::engine::{Command, TaskState};
use unstuck_runner::kicks;
use unstuck_store::tables::BuildRow;

use super::control::{Control, Sent, hinted};
use crate::args::Kick;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, which};
use crate::render::{Terminal, words};

pub(crate) fn run(args: &Kick, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let control = Control::open(dir, terminal, "kick", args.json)?;
    project::runtime()?.block_on(async {
        match args.task.as_deref() {
            Some(given) => one(&control, given).await,
            None => all(&control).await,
        }
    })?;
    Ok(Exit::Done)
}

async fn one(control: &Control<'_>, given: &str) -> Result<(), Error> {
    let task = which::task(control.store.as_ref(), control.project.name(), given).await?;
    let sent = control.send(Command::Kick { task: task.id }).await;
    let sent = sent.map_err(|error| hinted(error, next(&task.moved.state)))?;
    let name = words::name(task.id, &task.spec);
    control.tell(&sent, &format!("“{name}” waits no longer. {}", sent.follows()))
}

/// Ends all waits of the newest build that has not ended, or, if there is none, of the jobs.
async fn all(control: &Control<'_>) -> Result<(), Error> {
    let store = control.store.as_ref();
    let name = control.project.name();
    let builds = store.builds(name).await?;
    let open = builds.iter().find(|build| !build.standing && !build.state.has_ended());
    let Some(build) = open.or_else(|| builds.iter().find(|build| build.standing)) else {
        return Err(Error::NoOpenBuild);
    };
    let rows = store.tasks(name, build.id).await?;
    let commands = kicks(&rows);
    if commands.is_empty() {
        let none = Sent { events: Vec::new(), held: false };
        return control.tell(&none, &format!("{} waits by itself.", nothing(build)));
    }
    let (sent, ended) = control.send_all(commands).await?;
    control.tell(&sent, &said(build, ended, &sent))
}

fn nothing(build: &BuildRow) -> String {
    if build.standing { "No job".to_owned() } else { format!("Nothing of build {}", build.id) }
}

fn said(build: &BuildRow, ended: usize, sent: &Sent) -> String {
    let of = if build.standing { "the jobs".to_owned() } else { format!("build {}", build.id) };
    match ended {
        // The waits ended before the commands arrived.
        0 => format!("The waits of {of} were over already."),
        1 => format!("One wait of {of} is over. {}", sent.follows()),
        many => format!("{many} waits of {of} are over. {}", sent.follows()),
    }
}

const fn next(state: &TaskState) -> &'static str {
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
