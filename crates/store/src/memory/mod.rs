//! An in-memory store for the simulator and for tests: the same rules, no disk.
//!
//! It can be told to fail as a disk would ([`MemoryStore::fail_next`], [`MemoryStore::set_full`]) and to die as a
//! process would ([`MemoryStore::clone_after_crash`]).

mod content;
mod journal;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;
use unstuck_core::engine::{BuildId, MutationId, QuestionId, RecordedEvent, RunId, TaskId};

use crate::checkpoint::StoredConversation;
use crate::error::{AnswerError, Holder, StoreError};
use crate::store::{Answer, Claim, EventPage, Outbox, QuestionPage, Store};
use crate::tables::{
    BuildRow, CostRow, GateRow, MutationRow, QuestionRow, QuestionStatus, RunRow, SignatureRow,
    TaskRow,
};

use content::ProjectContent;
use journal::MemoryJournal;

/// The location in errors.
const AT: &str = "memory";

/// An in-memory store. Clones share the same content.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<MemoryStoreInner>>);

#[derive(Debug, Default)]
struct MemoryStoreInner {
    projects: BTreeMap<String, MemoryProject>,
    /// The errors of the next appends.
    failures: Vec<StoreError>,
    full: bool,
}

#[derive(Debug)]
struct MemoryProject {
    content: ProjectContent,
    holder: Option<Holder>,
    written: watch::Sender<u64>,
}

impl Default for MemoryProject {
    fn default() -> Self {
        let content = ProjectContent::default();
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
    pub fn set_full(&self, full: bool) {
        self.lock().full = full;
    }

    /// Returns the store as another process finds it after this one has died: all durable content, without a
    /// holder.
    #[must_use]
    pub fn clone_after_crash(&self) -> Self {
        let shared = self.lock();
        let durable = shared.projects.iter().map(|(name, project)| {
            let content = project.content.clone();
            (name.clone(), MemoryProject { content, ..MemoryProject::default() })
        });
        let projects = durable.collect();
        Self(Arc::new(Mutex::new(MemoryStoreInner { projects, ..MemoryStoreInner::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, MemoryStoreInner> {
        // A poisoned lock is used further: a batch is validated before anything of it is written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_content<T: Default>(
        &self,
        project: &str,
        look: impl FnOnce(&ProjectContent) -> T,
    ) -> T {
        self.lock().projects.get(project).map(|project| look(&project.content)).unwrap_or_default()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn claim_project(&self, project: &str, holder: &Holder) -> Result<Claim, StoreError> {
        let mut shared = self.lock();
        let known = shared.projects.entry(project.to_owned()).or_default();
        if let Some(other) = &known.holder {
            return Err(StoreError::Held(other.clone()));
        }
        let (state, tail) = known.content.load_state(project)?;
        let (epoch, clean) = known.content.start_epoch();
        known.holder = Some(holder.clone());
        known.written.send_replace(state.seq());
        drop(shared);
        let journal = MemoryJournal::new(self.clone(), project, epoch, tail);
        Ok(Claim { state, journal: Box::new(journal), clean })
    }

    fn subscribe_to_project(&self, project: &str) -> watch::Receiver<u64> {
        let mut shared = self.lock();
        shared.projects.entry(project.to_owned()).or_default().written.subscribe()
    }

    fn read_revision(&self) -> Result<u64, StoreError> {
        Ok(self.lock().projects.values().map(|project| project.content.revision()).sum())
    }

    async fn load_events(
        &self,
        project: &str,
        page: EventPage,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        Ok(self.read_content(project, |content| content.load_events(page)))
    }

    async fn load_newest_seq(&self, project: &str) -> Result<u64, StoreError> {
        Ok(self.read_content(project, ProjectContent::newest_seq))
    }

    async fn load_run_decisions(
        &self,
        project: &str,
        run: RunId,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        Ok(self.read_content(project, |content| content.load_run_decisions(run)))
    }

    async fn load_builds(&self, project: &str) -> Result<Vec<BuildRow>, StoreError> {
        Ok(self.read_content(project, |content| content.builds.values().rev().cloned().collect()))
    }

    async fn load_build_tasks(
        &self,
        project: &str,
        build: BuildId,
    ) -> Result<Vec<TaskRow>, StoreError> {
        let of_build = |task: &&TaskRow| task.build == build;
        Ok(self.read_content(project, |content| {
            content.tasks.values().filter(of_build).cloned().collect()
        }))
    }

    async fn load_task(&self, project: &str, task: TaskId) -> Result<Option<TaskRow>, StoreError> {
        Ok(self.read_content(project, |content| content.tasks.get(&task).cloned()))
    }

    async fn load_task_runs(&self, project: &str, task: TaskId) -> Result<Vec<RunRow>, StoreError> {
        let of_task = |run: &&RunRow| run.task == task;
        Ok(self.read_content(project, |content| {
            content.runs.values().filter(of_task).cloned().collect()
        }))
    }

    async fn load_run(&self, project: &str, run: RunId) -> Result<Option<RunRow>, StoreError> {
        Ok(self.read_content(project, |content| content.runs.get(&run).cloned()))
    }

    async fn load_question_page(
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
        Ok(self.read_content(project, |content: &ProjectContent| {
            let rows = content.questions.values();
            if newest_first {
                rows.rev().filter(wanted).take(limit).cloned().collect()
            } else {
                rows.filter(wanted).take(limit).cloned().collect()
            }
        }))
    }

    async fn load_question(
        &self,
        project: &str,
        question: QuestionId,
    ) -> Result<Option<QuestionRow>, StoreError> {
        Ok(self.read_content(project, |content| content.questions.get(&question).cloned()))
    }

    async fn load_pending_answers(&self, project: &str) -> Result<Vec<Answer>, StoreError> {
        Ok(self.read_content(project, ProjectContent::pending_answers))
    }

    async fn count_unanswered(&self, project: &str) -> Result<u64, StoreError> {
        Ok(self.read_content(project, |content: &ProjectContent| {
            let answers = content.pending_answers();
            let waits = |row: &&QuestionRow| {
                row.status == QuestionStatus::Pending
                    && !answers.iter().any(|answer| answer.question == row.id)
            };
            content.questions.values().filter(waits).count() as u64
        }))
    }

    async fn load_task_mutations(
        &self,
        project: &str,
        task: TaskId,
    ) -> Result<Vec<MutationRow>, StoreError> {
        let of_task = |row: &&MutationRow| row.task == task;
        let all = |content: &ProjectContent| {
            content.mutations.values().filter(of_task).cloned().collect()
        };
        Ok(self.read_content(project, all))
    }

    async fn load_mutation(
        &self,
        project: &str,
        mutation: MutationId,
    ) -> Result<Option<MutationRow>, StoreError> {
        Ok(self.read_content(project, |content| content.mutations.get(&mutation).cloned()))
    }

    async fn load_checkpoint(
        &self,
        project: &str,
        task: TaskId,
    ) -> Result<Option<StoredConversation>, StoreError> {
        Ok(self.read_content(project, |content| content.checkpoints.get(&task).cloned()))
    }

    async fn load_gates(&self, project: &str) -> Result<Vec<GateRow>, StoreError> {
        Ok(self.read_content(project, |content| content.gates.values().cloned().collect()))
    }

    async fn load_signatures(&self, project: &str) -> Result<Vec<SignatureRow>, StoreError> {
        let mut all: Vec<SignatureRow> =
            self.read_content(project, |content| content.signatures.values().copied().collect());
        all.sort_by_key(|row| (std::cmp::Reverse(row.last_seen), row.signature.to_string()));
        Ok(all)
    }

    async fn load_costs(&self, project: &str, since_day: u64) -> Result<Vec<CostRow>, StoreError> {
        let from = (since_day, TaskId(0));
        Ok(self.read_content(project, |content| {
            content.costs.range(from..).map(|(_, row)| *row).collect()
        }))
    }

    async fn record_answer(&self, project: &str, answer: Answer) -> Result<(), AnswerError> {
        let mut shared = self.lock();
        if shared.full {
            return Err(StoreError::Full { at: AT.to_owned() }.into());
        }
        let Some(known) = shared.projects.get_mut(project) else {
            return Err(AnswerError::NoQuestion(answer.question));
        };
        known.content.record_answer(answer)
    }

    async fn open_outbox(&self, project: &str, channel: &str) -> Result<Outbox, StoreError> {
        let mut shared = self.lock();
        Ok(shared.projects.entry(project.to_owned()).or_default().content.open_outbox(channel))
    }

    async fn save_outbox(
        &self,
        project: &str,
        channel: &str,
        outbox: Outbox,
    ) -> Result<(), StoreError> {
        let mut shared = self.lock();
        if shared.full {
            return Err(StoreError::Full { at: AT.to_owned() });
        }
        shared.projects.entry(project.to_owned()).or_default().content.save_outbox(channel, outbox);
        Ok(())
    }
}
