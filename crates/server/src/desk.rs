//! Where people's wishes about a project are handed in.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::engine::{BuildId, Command, Order, Recorded, TaskId};
use unstuck_core::fault::Fault;
use unstuck_core::policy::Policy;
use unstuck_core::time::Time;
use unstuck_runner::notify::Tested;
use unstuck_runner::{Look, Looked, Undecided};
use unstuck_store::tables::TaskRow;

/// Whoever decides about a project: this process, or the one that holds it.
#[async_trait]
pub trait Desk: fmt::Debug + Send + Sync {
    /// Has a command decided, and waits until the decision is on disk.
    async fn command(&self, command: Command) -> Result<Vec<Recorded>, Refused>;

    /// Starts a build of what there is to do, and sees to it that it is carried out.
    /// What was started for the same request before is found instead.
    async fn start(&self, work: Wanted, order: Order) -> Result<BuildId, Refused>;

    /// Has the start of a build decided. The same order once more finds the build that came of it.
    async fn begin(&self, start: Command, order: Order) -> Result<BuildId, Refused> {
        let events = self.command(order.clone().wants(start)).await?;
        if let Some(build) = events.iter().find_map(|recorded| recorded.event.starts()) {
            return Ok(build);
        }
        self.begun(&order).await?.ok_or(Refused::ChangingHands)
    }

    /// The build that came of this very order before.
    async fn begun(&self, order: &Order) -> Result<Option<BuildId>, Refused> {
        let Some(request) = &order.request else { return Ok(None) };
        match self.look(Look::Taken { request: request.clone() }).await? {
            Looked::Build(build) => Ok(build),
            _ => Ok(None),
        }
    }

    /// There are answers to take up. Whether somebody is there who acts on them at once; where
    /// nobody is, the next one who takes the project up finds them.
    async fn take_answers(&self) -> Result<bool, Refused>;

    /// What a person wrote, without the secrets it may hold.
    fn redacted(&self, text: &str) -> Arc<str>;

    /// Looks something up in the state of the project.
    async fn look(&self, look: Look) -> Result<Looked, Refused>;

    /// The limits that are spoken of.
    fn policy(&self) -> Arc<Policy>;

    /// The jobs as people think of them, by name.
    async fn jobs(&self) -> Result<Vec<JobStanding>, Refused>;

    /// Sends a test message by each way of notifying that is set up, and tells what came of it.
    async fn test_notifications(&self) -> Result<Vec<Tested>, Refused>;

    /// Whether the project is carried on as it should be, besides its store.
    async fn ready(&self) -> Result<(), NotReady>;
}

/// Why a project is not carried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// What it remembers cannot be read or written.
    #[error("the store of a project cannot be used")]
    Store,
    /// There is no room where its files are.
    #[error("there is no room left on the disk of a project")]
    Disk,
    /// No process decides about it.
    #[error("no process holds a project and answers")]
    Holder,
    /// It has jobs, and no process runs them.
    #[error("no process runs the jobs of a project at their times")]
    Jobs,
}

/// What somebody wants to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A goal, in a few words.
    Goal(String),
    /// What is written in these files and folders of the project; without any, in its usual folder.
    Files(Vec<String>),
}

/// A job as people think of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobStanding {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub title: String,
    /// Where it stands, in a word.
    pub standing: Stand,
    /// The same in a sentence.
    pub detail: String,
    /// When it runs, as it was written.
    pub schedule: Option<String>,
    /// When it is due.
    pub next: Option<Time>,
    /// What was ever done with it; absent while nobody has taken it into care.
    pub row: Option<TaskRow>,
}

impl JobStanding {
    /// What the engine calls it.
    pub fn task(&self) -> Option<TaskId> {
        self.row.as_ref().map(|row| row.id)
    }

    /// Whether it is left alone when its time comes.
    pub fn is_held(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.moved.held)
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// It is at work or about to be.
    Running,
    /// It has nothing to do until its time comes.
    Idle,
    /// A person is needed.
    NeedsAttention,
    /// Nobody runs it.
    Stopped,
}

impl Stand {
    /// As people call it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Idle => "Idle",
            Self::NeedsAttention => "Needs attention",
            Self::Stopped => "Stopped",
        }
    }
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It does not fit the state things are in.
    #[error("{0}")]
    NotNow(String),
    /// The key of an action was used for another one.
    #[error("{0}")]
    KeyReused(String),
    /// A request came again and said something else.
    #[error("{0}")]
    RequestReused(String),
    /// There is no such thing.
    #[error("there is no {what} {name}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// By which name.
        name: String,
    },
    /// What was asked makes no sense.
    #[error("{0}")]
    Malformed(String),
    /// Whoever decides is coming or going; it can be tried again in a moment.
    #[error("the project is changing hands; try again in a moment")]
    ChangingHands,
    /// Something is in the way.
    #[error("{0}")]
    Fault(Box<Fault>),
}

impl From<Undecided> for Refused {
    fn from(undecided: Undecided) -> Self {
        match undecided {
            Undecided::Refused(said) => Self::NotNow(said),
            Undecided::KeyReused(said) => Self::KeyReused(said),
            Undecided::RequestReused(said) => Self::RequestReused(said),
            Undecided::Stale => Self::NotNow("it is over already".to_owned()),
            Undecided::Store(fault) => Self::Fault(fault),
            Undecided::Ended => Self::ChangingHands,
        }
    }
}
