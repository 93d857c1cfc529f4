//! An in-memory store for the simulator and for tests: the same rules, no disk.
//!
//! It can be told to fail as a disk would ([`MemoryStore::fail_next`], [`MemoryStore::fill`]) and to die as a
//! process would ([`MemoryStore::crash`]).

mod content;
mod journal;
mod rows;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;
use unstuck_core::engine::{BuildId, MutationId, QuestionId, Recorded, RunId, TaskId};

use crate::checkpoint::Conversation;
use crate::error::StoreError;
use crate::outbox::Outbox;
use crate::store::{Answer, AnswerError, Claim, Holder, Page, QuestionPage, Store};
use crate::tables::{
    BuildRow, CostRow, GateRow, MutationRow, QuestionRow, QuestionStatus, RunRow, SignatureRow,
    TaskRow,
};

use content::Content;
use journal::MemoryJournal;

/// The location in errors.
const AT: &str = "memory";

/// An in-memory store. Clones share the same content.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    projects: BTreeMap<String, Project>,
    /// The errors of the next appends.
    failures: Vec<StoreError>,
    full: bool,
}

#[derive(Debug)]
struct Project {
    content: Content,
    holder: Option<Holder>,
    written: watch::Sender<u64>,
}

impl Default for Project {
    fn default() -> Self {
        let content = Content::default();
        let holder = None;
        let written = watch::Sender::new(0);
        Self { content, holder, written }
    }
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the next `count` appends fail.
    pub fn fail_next(&self, count: usize) {
        let error = StoreError::NotWritten { at: AT.to_owned(), cause: "told to fail".to_owned() };
        self.lock().failures.resize(count, error);
    }

    /// Sets whether the store behaves like a full disk.
    pub fn fill(&self, full: bool) {
        self.lock().full = full;
    }

    /// Returns the store as another process finds it after this one has died: all durable content, without a
    /// holder.
    #[must_use]
    pub fn crash(&self) -> Self {
        let shared = self.lock();
        let durable = shared.projects.iter().map(|(name, project)| {
            let content = project.content.clone();
            (name.clone(), Project { content, ..Project::default() })
        });
        let projects = durable.collect();
        Self(Arc::new(Mutex::new(Shared { projects, ..Shared::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A poisoned lock is used further: a batch is validated before anything of it is written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T: Default>(&self, project: &str, look: impl FnOnce(&Content) -> T) -> T {
        self.lock().projects.get(project).map(|project| look(&project.content)).unwrap_or_default()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn claim(&self, project: &str, holder: &Holder) -> Result<Claim, StoreError> {
        let mut shared = self.lock();
        let known = shared.projects.entry(project.to_owned()).or_default();
        if let Some(other) = &known.holder {
            return Err(StoreError::Held(other.clone()));
        }
        let (state, tail) = known.content.load(project)?;
        let (epoch, clean) = known.content.take();
        known.holder = Some(holder.clone());
        known.written.send_replace(state.seq());
        drop(shared);
        let journal = MemoryJournal::new(self.clone(), project, epoch, tail);
        Ok(Claim { state, journal: Box::new(journal), clean })
    }

    fn subscribe(&self, project: &str) -> watch::Receiver<u64> {
        let mut shared = self.lock();
        shared.projects.entry(project.to_owned()).or_default().written.subscribe()
    }

    fn revision(&self) -> Result<u64, StoreError> {
        Ok(self.lock().projects.values().map(|project| project.content.revision()).sum())
    }

    async fn events(&self, project: &str, page: Page) -> Result<Vec<Recorded>, StoreError> {
        Ok(self.read(project, |content| content.events(page)))
    }

    async fn newest(&self, project: &str) -> Result<u64, StoreError> {
        Ok(self.read(project, Content::newest))
    }

    async fn decisions(&self, project: &str, run: RunId) -> Result<Vec<Recorded>, StoreError> {
        Ok(self.read(project, |content| content.decisions(run)))
    }

    async fn builds(&self, project: &str) -> Result<Vec<BuildRow>, StoreError> {
        Ok(self.read(project, |content| content.builds.values().rev().cloned().collect()))
    }

    async fn tasks(&self, project: &str, build: BuildId) -> Result<Vec<TaskRow>, StoreError> {
        let of_build = |task: &&TaskRow| task.build == build;
        Ok(self.read(project, |content| content.tasks.values().filter(of_build).cloned().collect()))
    }

    async fn task(&self, project: &str, task: TaskId) -> Result<Option<TaskRow>, StoreError> {
        Ok(self.read(project, |content| content.tasks.get(&task).cloned()))
    }

    async fn runs(&self, project: &str, task: TaskId) -> Result<Vec<RunRow>, StoreError> {
        let of_task = |run: &&RunRow| run.task == task;
        Ok(self.read(project, |content| content.runs.values().filter(of_task).cloned().collect()))
    }

    async fn run(&self, project: &str, run: RunId) -> Result<Option<RunRow>, StoreError> {
        Ok(self.read(project, |content| content.runs.get(&run).cloned()))
    }

    async fn questions_page(
        &self,
        project: &str,
        page: QuestionPage,
    ) -> Result<Vec<QuestionRow>, StoreError> {
        let QuestionPage { status, after, newest_first, limit } = page;
        let comes_after = |id: QuestionId| match after {
            None => true,
            Some(after) if newest_first => id < after,
            Some(after) => id > after,
        };
        let wanted = |row: &&QuestionRow| {
            status.is_none_or(|status| row.status == status) && comes_after(row.id)
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(self.read(project, |content: &Content| {
            let rows = content.questions.values();
            if newest_first {
                rows.rev().filter(wanted).take(limit).cloned().collect()
            } else {
                rows.filter(wanted).take(limit).cloned().collect()
            }
        }))
    }

    async fn question(
        &self,
        project: &str,
        question: QuestionId,
    ) -> Result<Option<QuestionRow>, StoreError> {
        Ok(self.read(project, |content| content.questions.get(&question).cloned()))
    }

    async fn answers(&self, project: &str) -> Result<Vec<Answer>, StoreError> {
        Ok(self.read(project, Content::answers_waiting))
    }

    async fn unanswered(&self, project: &str) -> Result<u64, StoreError> {
        Ok(self.read(project, |content: &Content| {
            let answers = content.answers_waiting();
            let waits = |row: &&QuestionRow| {
                row.status == QuestionStatus::Pending
                    && !answers.iter().any(|answer| answer.question == row.id)
            };
            content.questions.values().filter(waits).count() as u64
        }))
    }

    async fn mutations(&self, project: &str, task: TaskId) -> Result<Vec<MutationRow>, StoreError> {
        let of_task = |row: &&MutationRow| row.task == task;
        let all = |content: &Content| content.mutations.values().filter(of_task).cloned().collect();
        Ok(self.read(project, all))
    }

    async fn mutation(
        &self,
        project: &str,
        mutation: MutationId,
    ) -> Result<Option<MutationRow>, StoreError> {
        Ok(self.read(project, |content| content.mutations.get(&mutation).cloned()))
    }

    async fn checkpoint(
        &self,
        project: &str,
        task: TaskId,
    ) -> Result<Option<Conversation>, StoreError> {
        Ok(self.read(project, |content| content.checkpoints.get(&task).cloned()))
    }

    async fn gates(&self, project: &str) -> Result<Vec<GateRow>, StoreError> {
        Ok(self.read(project, |content| content.gates.values().cloned().collect()))
    }

    async fn signatures(&self, project: &str) -> Result<Vec<SignatureRow>, StoreError> {
        let mut all: Vec<SignatureRow> =
            self.read(project, |content| content.signatures.values().copied().collect());
        all.sort_by_key(|row| (std::cmp::Reverse(row.last_seen), row.signature.to_string()));
        Ok(all)
    }

    async fn costs(&self, project: &str, since_day: u64) -> Result<Vec<CostRow>, StoreError> {
        let from = (since_day, TaskId(0));
        Ok(self.read(project, |content| content.costs.range(from..).map(|(_, row)| *row).collect()))
    }

    async fn answer(&self, project: &str, answer: Answer) -> Result<(), AnswerError> {
        let mut shared = self.lock();
        if shared.full {
            return Err(StoreError::Full { at: AT.to_owned() }.into());
        }
        let Some(known) = shared.projects.get_mut(project) else {
            return Err(AnswerError::NoQuestion(answer.question));
        };
        known.content.answer(answer)
    }

    async fn outbox(&self, project: &str, channel: &str) -> Result<Outbox, StoreError> {
        let mut shared = self.lock();
        Ok(shared.projects.entry(project.to_owned()).or_default().content.outbox(channel))
    }

    async fn told(&self, project: &str, channel: &str, outbox: Outbox) -> Result<(), StoreError> {
        let mut shared = self.lock();
        if shared.full {
            return Err(StoreError::Full { at: AT.to_owned() });
        }
        shared.projects.entry(project.to_owned()).or_default().content.told(channel, outbox);
        Ok(())
    }
}
