//! The interface through which the server submits commands to a project.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::engine::{BuildId, Command, CommandIssuer, RecordedEvent, TaskId};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::policy::Policy;
use unstuck_core::time::Time;
use unstuck_runner::notify::ChannelTestResult;
use unstuck_runner::{DecideError, StateQuery, StateQueryResult};
use unstuck_store::tables::TaskRow;

/// A build that was started, and what a person should know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedBuild {
    /// Its number, by which it is found.
    pub build: BuildId,
    /// Warnings from before its start, such as missing checks. Empty if the same request had started
    /// it before.
    pub warnings: Vec<String>,
}

/// The access to the holder of a project: this process, or another one.
#[async_trait]
pub trait ProjectHost: fmt::Debug + Send + Sync {
    /// Submits a command, and waits until the decision is on disk.
    async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<RecordedEvent>, ProjectHostError>;

    /// Starts a build of the given work, and makes sure that it is carried out. If the same request
    /// has started a build before, returns that one.
    async fn start_build(
        &self,
        work: BuildStartRequest,
        issuer: CommandIssuer,
    ) -> Result<OrderedBuild, ProjectHostError>;

    /// Submits the start of a build. A repeated order returns the build that it started before.
    async fn submit_build_start(
        &self,
        start: Command,
        issuer: CommandIssuer,
    ) -> Result<BuildId, ProjectHostError> {
        let events = self.submit_command(issuer.clone().wrap_command(start)).await?;
        if let Some(build) = events.iter().find_map(|recorded| recorded.event.started_build()) {
            return Ok(build);
        }
        self.find_started_build(&issuer).await?.ok_or(ProjectHostError::ChangingHands)
    }

    /// Returns the build that this very order started before.
    async fn find_started_build(
        &self,
        issuer: &CommandIssuer,
    ) -> Result<Option<BuildId>, ProjectHostError> {
        let Some(request) = &issuer.request else { return Ok(None) };
        match self.look_up(StateQuery::Taken { request: request.clone() }).await? {
            StateQueryResult::Build(build) => Ok(build),
            _ => Err(ProjectHostError::unexpected_result("a build")),
        }
    }

    /// Tells the holder that there are answers to process. Returns whether a process acts on them
    /// at once; if none does, the next holder of the project finds them.
    async fn take_answers(&self) -> Result<bool, ProjectHostError>;

    /// Removes secrets from a text that a person wrote.
    fn redact_text(&self, text: &str) -> Arc<str>;

    /// Looks up data in the state of the project.
    async fn look_up(&self, look: StateQuery) -> Result<StateQueryResult, ProjectHostError>;

    /// Returns the policy with the project's limits.
    fn policy(&self) -> Arc<Policy>;

    /// Returns the jobs with their standings, by name.
    async fn list_jobs(&self) -> Result<Vec<JobOverview>, ProjectHostError>;

    /// Sends a test message through each configured channel, and returns the outcomes.
    async fn test_notifications(&self) -> Result<Vec<ChannelTestResult>, ProjectHostError>;

    /// Returns whether the project is carried on as it should be, besides its store.
    async fn check_ready(&self) -> Result<(), ReadinessError>;
}

/// The reason why a project is not carried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadinessError {
    /// The store cannot be read or written.
    #[error("the store of a project cannot be used")]
    Store,
    /// The disk with its files is full.
    #[error("there is no room left on the disk of a project")]
    Disk,
    /// No process holds the project.
    #[error("no process holds a project and answers")]
    Holder,
    /// The project has jobs, and no process runs them.
    #[error("no process runs the jobs of a project at their times")]
    Jobs,
}

/// The work that a client wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildStartRequest {
    /// A goal, in a few words.
    Goal(String),
    /// Files and folders of the project that describe the work; if empty, its usual folder.
    Files(Vec<String>),
}

/// A job with its standing, as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobOverview {
    /// The name of the job.
    pub name: String,
    /// The purpose of the job.
    pub title: String,
    /// The standing, in a word.
    pub standing: Stand,
    /// The standing, in a sentence.
    pub detail: String,
    /// The schedule, as it was written.
    pub schedule: Option<String>,
    /// The time at which the job is due.
    pub next: Option<Time>,
    /// The stored row of its task; absent until a holder has taken up the job.
    pub row: Option<TaskRow>,
}

impl JobOverview {
    /// Returns the id of its task in the engine.
    pub fn task_id(&self) -> Option<TaskId> {
        self.row.as_ref().map(|row| row.id)
    }

    /// Returns whether the job is held, that is, skipped when it is due.
    pub fn is_held(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.moved.held)
    }
}

/// The standing of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// The job runs or is about to.
    Running,
    /// The job waits for its time.
    Idle,
    /// The operator is needed.
    NeedsAttention,
    /// No process runs the job.
    Stopped,
}

impl Stand {
    /// Returns the label that people read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Idle => "Idle",
            Self::NeedsAttention => "Needs attention",
            Self::Stopped => "Stopped",
        }
    }
}

/// The reason why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ProjectHostError {
    /// The request does not fit the current state.
    #[error("{0}")]
    NotNow(String),
    /// The key of an action was used for another one.
    #[error("{0}")]
    KeyReused(String),
    /// An idempotency key came again with another request.
    #[error("{0}")]
    RequestReused(String),
    /// The named object does not exist.
    #[error("there is no {what} {name}")]
    Unknown {
        /// The kind of object.
        what: &'static str,
        /// The name in the request.
        name: String,
    },
    /// The request is invalid.
    #[error("{0}")]
    Malformed(String),
    /// The holder is starting or stopping; a retry may work in a moment.
    #[error("the project is changing hands; try again in a moment")]
    ChangingHands,
    /// A fault prevents it.
    #[error("{0}")]
    Fault(Box<Fault>),
}

impl ProjectHostError {
    /// Returns the error for a result that belongs to another query.
    pub(crate) fn unexpected_result(wanted: &str) -> Self {
        let message = format!("the holder was asked for {wanted} and answered something else");
        let context = Internal { component: "server".to_owned() };
        Self::Fault(Box::new(Fault::internal_error("server", message, context)))
    }
}

impl From<DecideError> for ProjectHostError {
    fn from(undecided: DecideError) -> Self {
        match undecided {
            DecideError::Refused(said) => Self::NotNow(said),
            DecideError::KeyReused(said) => Self::KeyReused(said),
            DecideError::RequestReused(said) => Self::RequestReused(said),
            DecideError::Stale => Self::NotNow("it is over already".to_owned()),
            DecideError::Store(fault) => Self::Fault(fault),
            DecideError::Ended => Self::ChangingHands,
        }
    }
}
