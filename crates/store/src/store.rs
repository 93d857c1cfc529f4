//! The store's interface, in the types of the engine.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};
use unstuck_core::engine::{BuildId, MutationId, QuestionId, RecordedEvent, RunId, State, TaskId};
use unstuck_core::question::Decision;
use unstuck_core::time::Time;

use crate::checkpoint::{Checkpoint, StoredConversation};
use crate::error::{AnswerError, Holder, StoreError};
use crate::tables::{
    BuildRow, CostRow, GateRow, MutationRow, QuestionRow, QuestionStatus, RunRow, SignatureRow,
    TableChanges, TaskRow,
};

/// A store of projects. Any process may read and answer; writing requires a [`Claim`].
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// Claims a project for writing, or returns its holder as an error. An unknown project is created.
    async fn claim_project(&self, project: &str, holder: &Holder) -> Result<Claim, StoreError>;

    /// Subscribes to the position of the last durable event that this process has written or read; a hint to
    /// read on.
    fn subscribe_to_project(&self, project: &str) -> watch::Receiver<u64>;

    /// Returns a number that changes whenever any process may have written: data read between two equal
    /// numbers is still current. Fast, and never blocks.
    fn read_revision(&self) -> Result<u64, StoreError>;

    /// Checks that the data of a project can still be read and written.
    async fn check_usable(&self, project: &str) -> Result<(), StoreError> {
        self.load_newest_seq(project).await.map(drop)
    }

    /// Returns the events after a position, oldest first, at most `limit` of them.
    async fn load_events(
        &self,
        project: &str,
        page: EventPage,
    ) -> Result<Vec<RecordedEvent>, StoreError>;

    /// Returns the position of the newest event; 0 if there is none.
    async fn load_newest_seq(&self, project: &str) -> Result<u64, StoreError>;

    /// Returns the decisions of a run with their reasons, oldest first.
    async fn load_run_decisions(
        &self,
        project: &str,
        run: RunId,
    ) -> Result<Vec<RecordedEvent>, StoreError>;

    /// Returns all builds, newest first.
    async fn load_builds(&self, project: &str) -> Result<Vec<BuildRow>, StoreError>;

    /// Returns the tasks of a build, in the order of their ids.
    async fn load_build_tasks(
        &self,
        project: &str,
        build: BuildId,
    ) -> Result<Vec<TaskRow>, StoreError>;

    /// Returns a task.
    async fn load_task(&self, project: &str, task: TaskId) -> Result<Option<TaskRow>, StoreError>;

    /// Returns the runs of a task, oldest first.
    async fn load_task_runs(&self, project: &str, task: TaskId) -> Result<Vec<RunRow>, StoreError>;

    /// Returns a run.
    async fn load_run(&self, project: &str, run: RunId) -> Result<Option<RunRow>, StoreError>;

    /// Returns the questions, oldest first; with a status only those.
    async fn load_questions(
        &self,
        project: &str,
        status: Option<QuestionStatus>,
    ) -> Result<Vec<QuestionRow>, StoreError> {
        let all = QuestionPage { status, after: None, newest_first: false, limit: u32::MAX };
        self.load_question_page(project, all).await
    }

    /// Returns a page of questions.
    async fn load_question_page(
        &self,
        project: &str,
        page: QuestionPage,
    ) -> Result<Vec<QuestionRow>, StoreError>;

    /// Returns a question.
    async fn load_question(
        &self,
        project: &str,
        question: QuestionId,
    ) -> Result<Option<QuestionRow>, StoreError>;

    /// Returns the answers that were given and not taken up yet, in the order they were given. Their
    /// questions are still pending.
    async fn load_pending_answers(&self, project: &str) -> Result<Vec<Answer>, StoreError>;

    /// Returns the number of questions that wait for a person: pending, and without an answer.
    async fn count_unanswered(&self, project: &str) -> Result<u64, StoreError>;

    /// Returns the actions of a task, oldest first.
    async fn load_task_mutations(
        &self,
        project: &str,
        task: TaskId,
    ) -> Result<Vec<MutationRow>, StoreError>;

    /// Returns an action.
    async fn load_mutation(
        &self,
        project: &str,
        mutation: MutationId,
    ) -> Result<Option<MutationRow>, StoreError>;

    /// Returns the conversation of a task as of its last durable checkpoint.
    async fn load_checkpoint(
        &self,
        project: &str,
        task: TaskId,
    ) -> Result<Option<StoredConversation>, StoreError>;

    /// Returns all gates that were ever closed.
    async fn load_gates(&self, project: &str) -> Result<Vec<GateRow>, StoreError>;

    /// Returns all errors that ever occurred, the latest first.
    async fn load_signatures(&self, project: &str) -> Result<Vec<SignatureRow>, StoreError>;

    /// Returns the costs of this day and later, by day and task. Days are those of the budget.
    async fn load_costs(&self, project: &str, since_day: u64) -> Result<Vec<CostRow>, StoreError>;

    /// Records a person's answer. Success is the acknowledgement: the holder of the project takes it up,
    /// immediately or at its next start. A question has one answer.
    async fn record_answer(&self, project: &str, answer: Answer) -> Result<(), AnswerError>;

    /// Returns the progress of a channel. An unknown channel begins after the last event, because old events
    /// are not news.
    async fn open_outbox(&self, project: &str, channel: &str) -> Result<Outbox, StoreError>;

    /// Records the progress of a channel, from any process. The position never decreases.
    async fn save_outbox(
        &self,
        project: &str,
        channel: &str,
        outbox: Outbox,
    ) -> Result<(), StoreError>;
}

/// A project claimed for writing.
#[derive(Debug)]
pub struct Claim {
    /// The state that its journal adds up to.
    pub state: State,
    /// The writer for its next events.
    pub journal: Box<dyn Journal>,
    /// `true` if the last holder closed the project cleanly.
    pub clean: bool,
}

/// The single writer of a project. Dropping it releases the project as a crash would.
#[async_trait]
pub trait Journal: fmt::Debug + Send {
    /// Queues a batch for the writer. Batches become durable in the order they were given; after one that
    /// failed, every later one fails too, until the project is claimed again.
    fn append_batch(&mut self, batch: Batch) -> Receipt;

    /// Returns whether the next batch should carry a [`snapshot`](crate::serialize_snapshot()).
    fn is_snapshot_due(&self) -> bool;

    /// Returns the answers that were not taken up yet, in the order they were given.
    async fn load_pending_answers(&mut self) -> Result<Vec<Answer>, StoreError>;

    /// Deletes events and ended items from before `before`, except those that opening needs. Returns the
    /// number of deleted events.
    async fn prune_before(&mut self, before: Time) -> Result<u64, StoreError>;

    /// Closes the project cleanly, storing `state` so that the next opening is fast.
    async fn close(self: Box<Self>, state: &State) -> Result<(), StoreError>;
}

/// The writes of one decision: its events, the changes they make in the tables, the answers they take up, and
/// the checkpoint of a conversation. A batch is durable as a whole or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events, in the order of their `seq`.
    pub events: Vec<RecordedEvent>,
    /// The changes of the table rows.
    pub changes: TableChanges,
    /// Questions whose answers became part of the journal.
    pub taken: Vec<QuestionId>,
    /// The conversation at the time of the decision. It is not kept if the decision ends the conversation.
    pub checkpoint: Option<Checkpoint>,
    /// The whole state after these events, serialized, if a snapshot is due: opening reads the last snapshot
    /// and the events after it.
    pub snapshot: Option<Vec<u8>>,
}

impl Batch {
    /// Creates the batch of `events`, which have been applied to `state`.
    pub fn new(state: &State, events: Vec<RecordedEvent>) -> Self {
        let changes = TableChanges::from_events(state, &events);
        Self { events, changes, ..Self::default() }
    }
}

/// A receipt that resolves when a batch is durable.
#[derive(Debug)]
pub struct Receipt(pub(crate) oneshot::Receiver<BatchReply>);

/// The result of a batch.
#[derive(Debug)]
pub(crate) struct BatchReply {
    pub(crate) verdict: Result<(), StoreError>,
    /// The rows made from the batch. They are dropped on the thread that made them, because freeing another
    /// thread's memory means waiting for it.
    pub(crate) _written: Option<Box<dyn Any + Send>>,
}

/// A page of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// The position of the last event that is already known; 0 to start at the beginning.
    pub after: u64,
    /// Maximum number of events.
    pub limit: u32,
}

/// A page of the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionPage {
    /// Only questions with this status.
    pub status: Option<QuestionStatus>,
    /// Only questions after this one, in the order of the page.
    pub after: Option<QuestionId>,
    /// `true` for newest first, `false` for oldest first.
    pub newest_first: bool,
    /// Maximum number of questions.
    pub limit: u32,
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The answered question.
    pub question: QuestionId,
    /// The chosen decision.
    pub decision: Decision,
    /// The person's words.
    pub guidance: Option<Arc<str>>,
    /// The person who answered.
    pub by: Arc<str>,
    /// The time of the answer.
    pub at: Time,
}

/// The delivery progress of a notification channel. The messages follow from the journal, so there is no copy
/// of them: the process that continues after a crash reads the journal from this position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outbox {
    /// The position of the last event about which everything was delivered.
    pub upto: u64,
    /// Number of failed attempts to deliver the next message.
    pub tries: u32,
    /// Earliest time of the next attempt.
    pub retry_at: Option<Time>,
}

impl Outbox {
    /// Creates an outbox with everything delivered up to this position.
    pub const fn delivered_up_to(upto: u64) -> Self {
        Self { upto, tries: 0, retry_at: None }
    }
}

impl Receipt {
    /// Creates a receipt whose batch has already been handled.
    pub(crate) fn from_verdict(verdict: Result<(), StoreError>) -> Self {
        let (tell, told) = oneshot::channel();
        // The receiver is held here, so sending cannot fail.
        let _ = tell.send(BatchReply { verdict, _written: None });
        Self(told)
    }

    /// Waits until the batch is durable, or failed.
    pub async fn wait_until_durable(self) -> Result<(), StoreError> {
        match self.0.await {
            Ok(settled) => settled.verdict,
            Err(_) => Err(StoreError::NotWritten {
                at: "store".to_owned(),
                cause: "the writer is gone".to_owned(),
            }),
        }
    }
}

/// Returns the run each event belongs to. A decision that names none belongs to the run that was named last
/// before it, if it is about the same task: why a run was followed by a wait or a question is part of that
/// run's history.
pub(crate) fn attribute_runs(events: &[RecordedEvent]) -> Vec<Option<RunId>> {
    let mut last: Option<(RunId, Option<TaskId>)> = None;
    let mut credit = |recorded: &RecordedEvent| {
        let about = recorded.event.subject_ids();
        if let Some(run) = about.run {
            let known = last.filter(|(before, _)| *before == run).and_then(|(_, task)| task);
            last = Some((run, about.task.or(known)));
            return Some(run);
        }
        let (run, task) = last.filter(|_| recorded.why.is_some())?;
        let same = about.task.is_none() || task.is_none() || about.task == task;
        same.then_some(run)
    };
    events.iter().map(&mut credit).collect()
}
