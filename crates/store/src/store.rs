//! The store as everybody else sees it, in the words of the engine.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};
use unstuck_core::engine::{BuildId, MutationId, QuestionId, Recorded, RunId, State, TaskId};
use unstuck_core::question::Decision;
use unstuck_core::time::Time;

use crate::batch::Batch;
use crate::checkpoint::Conversation;
use crate::error::StoreError;
use crate::outbox::Outbox;
use crate::tables::{
    BuildRow, CostRow, GateRow, MutationRow, QuestionRow, QuestionStatus, RunRow, SignatureRow,
    TaskRow,
};

/// Where projects are remembered. Reading and answering are open to everybody; writing needs a
/// [`Claim`].
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// Takes a project for writing, or says who has it. A project nobody knows is made.
    async fn claim(&self, project: &str, holder: &Holder) -> Result<Claim, StoreError>;

    /// The position of the last durable event this process has written or read; a hint to read on.
    fn subscribe(&self, project: &str) -> watch::Receiver<u64>;

    /// Another number whenever something may have been written since, in whatever process: what was
    /// read between two that are the same is still true. Quick, and waits for nobody.
    fn revision(&self) -> Result<u64, StoreError>;

    /// That what is remembered about a project can still be read and written.
    async fn usable(&self, project: &str) -> Result<(), StoreError> {
        self.newest(project).await.map(drop)
    }

    /// Events after a position, oldest first, at most `limit` of them.
    async fn events(&self, project: &str, page: Page) -> Result<Vec<Recorded>, StoreError>;

    /// The position of the newest event; 0 where there is none.
    async fn newest(&self, project: &str) -> Result<u64, StoreError>;

    /// The decisions of one run, with their reasons, oldest first.
    async fn decisions(&self, project: &str, run: RunId) -> Result<Vec<Recorded>, StoreError>;

    /// All builds, newest first.
    async fn builds(&self, project: &str) -> Result<Vec<BuildRow>, StoreError>;

    /// The tasks of a build, in the order of their ids.
    async fn tasks(&self, project: &str, build: BuildId) -> Result<Vec<TaskRow>, StoreError>;

    /// One task.
    async fn task(&self, project: &str, task: TaskId) -> Result<Option<TaskRow>, StoreError>;

    /// The runs of a task, oldest first.
    async fn runs(&self, project: &str, task: TaskId) -> Result<Vec<RunRow>, StoreError>;

    /// One run.
    async fn run(&self, project: &str, run: RunId) -> Result<Option<RunRow>, StoreError>;

    /// Questions, oldest first; with a status only those.
    async fn questions(
        &self,
        project: &str,
        status: Option<QuestionStatus>,
    ) -> Result<Vec<QuestionRow>, StoreError> {
        let all = QuestionPage { status, after: None, newest_first: false, limit: u32::MAX };
        self.questions_page(project, all).await
    }

    /// Some questions.
    async fn questions_page(
        &self,
        project: &str,
        page: QuestionPage,
    ) -> Result<Vec<QuestionRow>, StoreError>;

    /// One question.
    async fn question(
        &self,
        project: &str,
        question: QuestionId,
    ) -> Result<Option<QuestionRow>, StoreError>;

    /// Answers that were given and not taken up yet, in the order they were given. Their questions
    /// are still pending.
    async fn answers(&self, project: &str) -> Result<Vec<Answer>, StoreError>;

    /// How many questions wait for a person: pending, and without an answer.
    async fn unanswered(&self, project: &str) -> Result<u64, StoreError>;

    /// The actions of a task, oldest first.
    async fn mutations(&self, project: &str, task: TaskId) -> Result<Vec<MutationRow>, StoreError>;

    /// One action.
    async fn mutation(
        &self,
        project: &str,
        mutation: MutationId,
    ) -> Result<Option<MutationRow>, StoreError>;

    /// How far the conversation of a task had come, as of the last checkpoint that is durable.
    async fn checkpoint(
        &self,
        project: &str,
        task: TaskId,
    ) -> Result<Option<Conversation>, StoreError>;

    /// All gates that were ever closed.
    async fn gates(&self, project: &str) -> Result<Vec<GateRow>, StoreError>;

    /// All errors ever met, the latest first.
    async fn signatures(&self, project: &str) -> Result<Vec<SignatureRow>, StoreError>;

    /// What was spent on this day and later, by day and task. Days are those of the budget.
    async fn costs(&self, project: &str, since_day: u64) -> Result<Vec<CostRow>, StoreError>;

    /// Takes a person's answer down. Success is the acknowledgement: whoever holds the project
    /// takes it up, at once or at its next start. There is one answer per question.
    async fn answer(&self, project: &str, answer: Answer) -> Result<(), AnswerError>;

    /// How far a channel has told people what happened. One that nobody knows begins after the
    /// last event: old news is no news.
    async fn outbox(&self, project: &str, channel: &str) -> Result<Outbox, StoreError>;

    /// Takes down how far a channel has come, in whatever process. It never goes back.
    async fn told(&self, project: &str, channel: &str, outbox: Outbox) -> Result<(), StoreError>;
}

/// A project that is ours to write.
#[derive(Debug)]
pub struct Claim {
    /// What its journal adds up to.
    pub state: State,
    /// Where its next events go.
    pub journal: Box<dyn Journal>,
    /// Whether the last holder let go of it properly.
    pub clean: bool,
}

/// The one writer of a project. Dropping it gives the project up, as a crash would.
#[async_trait]
pub trait Journal: fmt::Debug + Send {
    /// Hands a batch to the writer. Batches become durable in the order they were given; after one
    /// that failed, every later one fails too, until the project is claimed again.
    fn append(&mut self, batch: Batch) -> Receipt;

    /// Whether the next batch should carry a [`snapshot`](crate::snapshot()).
    fn snapshot_due(&self) -> bool;

    /// Answers nobody has taken up yet, in the order they were given.
    async fn answers(&mut self) -> Result<Vec<Answer>, StoreError>;

    /// Drops events and ended things that happened before `before`, except what opening needs.
    /// Tells how many events went.
    async fn retain(&mut self, before: Time) -> Result<u64, StoreError>;

    /// Lets go of the project properly, remembering `state` so that the next opening is quick.
    async fn close(self: Box<Self>, state: &State) -> Result<(), StoreError>;
}

/// Tells when a batch is durable.
#[derive(Debug)]
pub struct Receipt(pub(crate) oneshot::Receiver<Settled>);

/// How it went with a batch.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) verdict: Result<(), StoreError>,
    /// What was made of the batch. It goes where it was made: to free memory of another thread is to
    /// wait for it.
    pub(crate) _written: Option<Box<dyn Any + Send>>,
}

/// Who holds a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// What it does there: `run`, `exec`, `serve`.
    pub verb: String,
    /// Since when.
    pub since: Time,
}

/// A part of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The position of the last event that is known already; 0 from the beginning.
    pub after: u64,
    /// How many at most.
    pub limit: u32,
}

/// Some of the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionPage {
    /// Only those that stand like this.
    pub status: Option<QuestionStatus>,
    /// Only those that come after this one, in the order they come in.
    pub after: Option<QuestionId>,
    /// The newest come first, not the oldest.
    pub newest_first: bool,
    /// How many at most.
    pub limit: u32,
}

/// What a person answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// Which question.
    pub question: QuestionId,
    /// What they chose.
    pub decision: Decision,
    /// What they said.
    pub guidance: Option<Arc<str>>,
    /// Who.
    pub by: Arc<str>,
    /// When.
    pub at: Time,
}

/// Why an answer was not taken down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There is no such question.
    #[error("there is no question {0}")]
    NoQuestion(QuestionId),
    /// It was answered before.
    #[error("question {0} has already been answered")]
    Answered(QuestionId),
    /// Nobody needs the answer any more.
    #[error("question {0} was withdrawn: the answer is no longer needed")]
    Withdrawn(QuestionId),
    /// It does not offer this choice.
    #[error("question {question} does not offer {decision}")]
    NotAnOption {
        /// Which question.
        question: QuestionId,
        /// What was chosen.
        decision: Decision,
    },
    /// It could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Receipt {
    /// A receipt whose batch has been dealt with already.
    pub(crate) fn settled(verdict: Result<(), StoreError>) -> Self {
        let (tell, told) = oneshot::channel();
        // The other half is in our hand, so it is there to be told.
        let _ = tell.send(Settled { verdict, _written: None });
        Self(told)
    }

    /// Waits until the batch is durable, or failed.
    pub async fn durable(self) -> Result<(), StoreError> {
        match self.0.await {
            Ok(settled) => settled.verdict,
            Err(_) => Err(StoreError::NotWritten {
                at: "store".to_owned(),
                cause: "the writer is gone".to_owned(),
            }),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`unstuck {}` (process {})", self.verb, self.pid)
    }
}
