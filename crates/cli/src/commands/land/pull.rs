//! Opening a pull request through the ledger: its intent is on disk before anything is sent, it is
//! looked up when its answer was lost, and the same one is never opened twice.
//!
//! The work is a job of its own with one action, so that it is seen in `status` and `log`, and so
//! that whoever comes after a crash finds out first what became of it.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{
    Command, Event, MutationState, Outcome, State, Task, TaskId, TaskState, Work,
};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::{Call, JobSpec, MutationSpec, PullRequest, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::{Action, CommandError, Handle, Order, Report, Scope, Settled, World};
use unstuck_world::connector::{Connector, Credentials};

use crate::error::Error;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Opened {
    /// Where it is; empty where a person only said that it is there.
    pub(super) url: String,
    /// It was there already: we opened it before.
    pub(super) before: bool,
}

/// Opens it, or says where it is.
pub(super) async fn open(
    handle: &Handle,
    wanted: PullRequest,
    credentials: Credentials,
) -> Result<Opened, Error> {
    let key = key(&wanted);
    let spec = match known(handle, &key).await? {
        Some((_, MutationState::Applied { result })) => {
            return Ok(Opened { url: result.to_string(), before: true });
        }
        // What was written down is what is asked for, whatever has been done since.
        Some((spec, _)) => spec,
        None => {
            let spec = MutationSpec::calling(&*key, Call::PullRequest(wanted.clone()));
            MutationSpec { permanent: true, ..spec }
        }
    };
    let Some(Call::PullRequest(kept)) = spec.call.as_deref() else { return Err(unsettled()) };
    let pull = Arc::new(Pull { connector: Connector::new(credentials)?, wanted: kept.clone() });
    let (say, mut said) = watch::channel(None);
    let world = PullWorld { handle: handle.clone(), pull, spec, say };
    let task = take_up(handle, &key, &wanted).await?;
    handle.attach(Scope::Task(task), Arc::new(world)).await?;
    fire(handle, task).await?;
    match settled(handle, task, &mut said).await {
        Some(Settled::Applied(url)) => Ok(Opened { url: url.to_string(), before: false }),
        Some(Settled::Failed(fault)) => Err(Error::Fault(Box::new(Fault::clone(&fault)))),
        Some(Settled::Skipped) => Err(Error::PullRequestLeftOut),
        Some(Settled::NeedsPerson) => Err(Error::PullRequestUnknown),
        None => Err(unsettled()),
    }
}

/// One pull request from a branch to another at one place.
fn key(wanted: &PullRequest) -> String {
    let head = wanted.head.as_deref().unwrap_or_default();
    format!("github.pr {} {head} {}", wanted.repository, wanted.base)
}

async fn known(
    handle: &Handle,
    key: &str,
) -> Result<Option<(MutationSpec, MutationState)>, CommandError> {
    let key = key.to_owned();
    let look = move |state: &State| {
        let mut known = state.mutations().filter(|known| known.spec.key == key);
        known.next().map(|known| (MutationSpec::clone(&known.spec), known.state.clone()))
    };
    handle.look(look).await
}

/// The job that opens it, made where there is none.
async fn take_up(handle: &Handle, name: &str, wanted: &PullRequest) -> Result<TaskId, Error> {
    let wanted_name = name.to_owned();
    let find = move |state: &State| {
        let standing = state.builds().find(|build| build.standing)?.id;
        let of = |task: &&Task| task.build == standing && task.spec.name == wanted_name;
        state.tasks().find(of).map(|task| task.id)
    };
    if let Some(task) = handle.look(find).await? {
        return Ok(task);
    }
    let head = wanted.head.as_deref().unwrap_or_default();
    let spec = TaskSpec {
        name: name.to_owned(),
        title: "Open a pull request".to_owned(),
        goal: format!("Open a pull request from {head} to {}.", wanted.base),
        job: Some(JobSpec::default()),
        overrides: Overrides { repairs: Some(0), ..Overrides::default() },
        ..TaskSpec::default()
    };
    let decided = handle.command(Command::DefineJob { spec: Arc::new(spec) }).await?;
    let defined = decided.events.iter().find_map(|recorded| match &recorded.event {
        Event::JobDefined { task, .. } => Some(*task),
        _ => None,
    });
    defined.ok_or_else(unsettled)
}

/// A job that is over is run once more; one that was cut short goes on by itself.
async fn fire(handle: &Handle, task: TaskId) -> Result<(), Error> {
    let look = move |state: &State| state.task(task).is_some_and(|task| task.state.has_ended());
    if handle.look(look).await? {
        handle.command(Command::FireJob { task }).await?;
    }
    Ok(())
}

/// Waits until the job rests: it is over, or a person has to say what became of its action. What it
/// says is then what came of it.
async fn settled(
    handle: &Handle,
    task: TaskId,
    said: &mut watch::Receiver<Option<Settled>>,
) -> Option<Settled> {
    let mut notices = handle.watch();
    let stands = move |state: &State| state.task(task).map(|task| task.state.clone());
    loop {
        match handle.look(stands).await.ok()?? {
            TaskState::Parked { .. } => return Some(Settled::NeedsPerson),
            state if state.has_ended() => return said.borrow_and_update().clone(),
            _ => {}
        }
        if let Err(RecvError::Closed) = notices.recv().await {
            return None;
        }
    }
}

fn unsettled() -> Error {
    let context = Internal { component: "ledger".to_owned() };
    Fault::internal_error("land", "the pull request came to no end", context).into()
}

/// How it is opened and looked up.
struct Pull {
    connector: Connector,
    wanted: PullRequest,
}

impl Pull {
    fn head(&self) -> &str {
        self.wanted.head.as_deref().unwrap_or_default()
    }
}

#[async_trait]
impl Action for Pull {
    async fn call(&self, _idempotency_key: &str) -> Outcome {
        self.connector.open_pull_request(&self.wanted, self.head()).await
    }

    async fn probe(&self, _idempotency_key: &str) -> Outcome {
        self.connector.look_up_pull_request(&self.wanted, self.head()).await
    }
}

/// Performs the job: the one action, once.
struct PullWorld {
    handle: Handle,
    pull: Arc<Pull>,
    spec: MutationSpec,
    /// For whoever waits for it.
    say: watch::Sender<Option<Settled>>,
}

#[async_trait]
impl World for PullWorld {
    async fn perform(&self, order: Order, _stop: CancellationToken) -> Option<Report> {
        let outcome = match order.effect.what {
            Work::Execute { .. } => {
                let action = Arc::clone(&self.pull) as Arc<dyn Action>;
                let settled =
                    self.handle.mutate(order.effect.id, self.spec.clone(), action).await.ok()?;
                self.say.send_replace(Some(settled));
                // What became of the action is told by us; the job itself has done its part.
                Outcome::Done
            }
            Work::Probe { .. } => self.pull.probe("").await,
            // Whoever was about to send it is gone, and may have sent it.
            Work::Perform { .. } => {
                let context = Internal { component: "ledger".to_owned() };
                let message = "whoever was to open the pull request is gone";
                let fault = Arc::new(Fault::internal_error("land", message, context));
                Outcome::Unknown { fault }
            }
            _ => Outcome::Done,
        };
        Some(outcome.into())
    }

    /// What an earlier process sent is looked up, not ended.
    async fn clear(&self, _tasks: &[TaskId]) {}
}
