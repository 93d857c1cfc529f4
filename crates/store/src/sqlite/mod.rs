//! A store in a SQLite file, for a single machine.
//!
//! One thread writes (`writer`, `writer_state`), a few connections read (`readers`). The file is inspected
//! before anything is written (`open`), and locked per project (`lock`). The layout is described in
//! docs/design/store.md.

mod backup;
mod check;
mod claim;
mod fail;
mod files;
mod journal;
mod lock;
mod loss;
mod mark;
mod migrate;
mod open;
mod readers;
mod rows;
mod table;
mod value;
mod verify;
mod writer;
mod writer_state;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::watch;
use tokio::task;
use unstuck_core::engine::{BuildId, MutationId, QuestionId, RecordedEvent, RunId, TaskId};

use crate::checkpoint::StoredConversation;
use crate::error::{AnswerError, Holder, StoreError};
use crate::store::{Answer, Claim, EventPage, Outbox, QuestionPage, Store};
use crate::tables::{
    BuildRow, CostRow, GateRow, MutationRow, QuestionRow, RunRow, SignatureRow, TaskRow,
};

use check::IntegrityCheck;
use claim::LoadedClaim;
use journal::SqliteJournal;
use migrate::MigrationStep;
use open::{DatabaseFacts, MarkPolicy};
use readers::ReaderPool;
use table::{event, limits, mutation, project, question, work};
use writer::WriterHandle;
use writer_state::WriterState;

pub use loss::AcceptedLoss;
pub use verify::JournalVerification;

/// A store in a SQLite file. Clones share the same store.
#[derive(Clone, Debug)]
pub struct SqliteStore(Arc<SqliteStoreInner>);

#[derive(Debug)]
struct SqliteStoreInner {
    path: PathBuf,
    /// The file that was opened, by its device and inode.
    file: (u64, u64),
    // The order matters: the writer's connection is closed last and folds a long WAL into the file. Read-only
    // connections cannot.
    check: IntegrityCheck,
    readers: ReaderPool,
    writer: WriterHandle,
    written: Mutex<HashMap<String, watch::Sender<u64>>>,
}

impl SqliteStore {
    /// Opens the store in a file, or creates it. Blocks on the disk: call it where blocking is acceptable.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_with(path.into(), migrate::STEPS, MarkPolicy::Count)
    }

    /// Opens the store even if its journal ends before its mark: the first write records that this was
    /// accepted.
    fn open_despite_loss(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_with(path.into(), migrate::STEPS, MarkPolicy::DoNotCount)
    }

    fn open_with(
        path: PathBuf,
        steps: &[MigrationStep],
        marks: MarkPolicy,
    ) -> Result<Self, StoreError> {
        let opened = DatabaseFacts::inspect_file(&path, marks);
        let conn = open::open_writer(&path, steps, marks)?;
        let file = files::file_identity(&path)?;
        let check = IntegrityCheck::default();
        let state = WriterState::new(conn, path.clone(), Arc::clone(&check.found), opened);
        let writer = WriterHandle::start(state, path.clone())?;
        let readers = ReaderPool::new(path.clone());
        let written = Mutex::default();
        Ok(Self(Arc::new(SqliteStoreInner { path, file, check, readers, writer, written })))
    }

    /// Returns whether there is a store in a file, or a file beside it proves that there was one.
    pub fn was_made(path: &Path) -> bool {
        path.exists() || mark::list_mark_files(path).is_ok_and(|marks| !marks.is_empty())
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the result of the check of the whole file. It runs in the background after an unclean end;
    /// `None` until it is finished.
    pub fn background_check_result(&self) -> Option<Result<(), StoreError>> {
        self.0.check.found.get().cloned()
    }

    /// Verifies the whole journal of a project, and the file.
    pub async fn verify_journal(&self, project: &str) -> Result<JournalVerification, StoreError> {
        let at = self.0.path.clone();
        let name = project.to_owned();
        let walk = move |conn: &Connection| {
            check::check_database(conn, &at)?;
            match project::find_id(conn, &name)? {
                Some(id) => claim::verify_journal(conn, &at, id, &name),
                None => Ok(JournalVerification { events: 0, last: 0 }),
            }
        };
        self.0.readers.read_data(walk).await
    }

    /// Copies a consistent state into a new file, while other processes read and write.
    pub async fn back_up(&self, to: PathBuf) -> Result<(), StoreError> {
        let from = self.0.path.clone();
        self.run_blocking(move || backup::copy_database(&from, &to)).await
    }

    /// Checks that a file is such a copy, and contains the project.
    pub fn check_copy(from: &Path, project: &str) -> Result<(), StoreError> {
        backup::open_checked_copy(from, project).map(drop)
    }

    /// Replaces the whole content by that of such a copy, atomically. The caller holds the project, whose
    /// state in memory is invalid afterwards.
    pub async fn restore_copy(&self, from: PathBuf, project: &str) -> Result<(), StoreError> {
        let at = self.0.path.clone();
        let project = project.to_owned();
        self.run_blocking(move || backup::restore_database(&from, &at, &project)).await
    }

    /// Runs work on a blocking thread.
    async fn run_blocking(
        &self,
        work: impl FnOnce() -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let done = task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| {
            Err(StoreError::NotWritten { at: self.0.display_path(), cause: error.to_string() })
        })
    }

    /// Reads data of a project; returns the default for an unknown one.
    async fn read_project<T: Default + Send + 'static>(
        &self,
        project: &str,
        look: impl FnOnce(&Connection, i64) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let name = project.to_owned();
        let look = move |conn: &Connection| match project::find_id(conn, &name)? {
            Some(project) => Ok(look(conn, project)?),
            None => Ok(T::default()),
        };
        self.0.readers.read_data(look).await
    }
}

impl SqliteStoreInner {
    /// Returns the location for errors.
    fn display_path(&self) -> String {
        self.path.display().to_string()
    }

    /// Checks that the file is still the one that was opened: writes to another one, or to a removed one, are
    /// lost.
    fn check_file_identity(&self) -> Result<(), StoreError> {
        if files::file_identity(&self.path)? == self.file {
            return Ok(());
        }
        let what = "another file was put in its place".to_owned();
        Err(StoreError::Damaged { at: self.display_path(), what })
    }

    fn position_sender(&self, project: &str) -> watch::Sender<u64> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.entry(project.to_owned()).or_insert_with(|| watch::Sender::new(0)).clone()
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn claim_project(&self, project: &str, holder: &Holder) -> Result<Claim, StoreError> {
        let name = project.to_owned();
        let holder = holder.clone();
        let written = self.0.position_sender(project);
        // In one job of the writer, where everything is already open: it has nothing else to do for a project
        // without a holder.
        let claim = move |state: &mut WriterState| state.claim_project(&name, &holder, written);
        let LoadedClaim { id, lock, start, state, tail } = self.0.writer.run_work(claim).await?;
        if !start.clean {
            self.0.check.start(self.0.path.clone())?;
        }
        let journal = SqliteJournal {
            shared: Arc::clone(&self.0),
            project: id,
            epoch: start.epoch,
            tail,
            _lock: lock,
        };
        Ok(Claim { state, journal: Box::new(journal), clean: start.clean })
    }

    fn subscribe_to_project(&self, project: &str) -> watch::Receiver<u64> {
        self.0.position_sender(project).subscribe()
    }

    fn read_revision(&self) -> Result<u64, StoreError> {
        self.0.readers.read_revision()
    }

    async fn check_usable(&self, project: &str) -> Result<(), StoreError> {
        self.0.check_file_identity()?;
        self.load_newest_seq(project).await?;
        self.0.writer.run_work(|state: &mut WriterState| state.check_usable()).await
    }

    async fn load_events(
        &self,
        project: &str,
        page: EventPage,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        let events = self
            .read_project(project, move |conn, id| event::load_event_page(conn, id, page))
            .await?;
        if let Some(last) = events.last() {
            self.0.position_sender(project).send_if_modified(|seq| {
                let news = last.seq > *seq;
                *seq = last.seq.max(*seq);
                news
            });
        }
        Ok(events)
    }

    async fn load_newest_seq(&self, project: &str) -> Result<u64, StoreError> {
        self.read_project(project, event::load_newest_seq).await
    }

    async fn load_run_decisions(
        &self,
        project: &str,
        run: RunId,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        self.read_project(project, move |conn, id| event::load_run_decisions(conn, id, run)).await
    }

    async fn load_builds(&self, project: &str) -> Result<Vec<BuildRow>, StoreError> {
        self.read_project(project, work::load_builds).await
    }

    async fn load_build_tasks(
        &self,
        project: &str,
        build: BuildId,
    ) -> Result<Vec<TaskRow>, StoreError> {
        self.read_project(project, move |conn, id| work::load_build_tasks(conn, id, build)).await
    }

    async fn load_task(&self, project: &str, task: TaskId) -> Result<Option<TaskRow>, StoreError> {
        self.read_project(project, move |conn, id| work::load_task(conn, id, task)).await
    }

    async fn load_task_runs(&self, project: &str, task: TaskId) -> Result<Vec<RunRow>, StoreError> {
        self.read_project(project, move |conn, id| work::load_task_runs(conn, id, task)).await
    }

    async fn load_run(&self, project: &str, run: RunId) -> Result<Option<RunRow>, StoreError> {
        self.read_project(project, move |conn, id| work::load_run(conn, id, run)).await
    }

    async fn load_question_page(
        &self,
        project: &str,
        page: QuestionPage,
    ) -> Result<Vec<QuestionRow>, StoreError> {
        self.read_project(project, move |conn, id| question::load_question_page(conn, id, page))
            .await
    }

    async fn load_question(
        &self,
        project: &str,
        question: QuestionId,
    ) -> Result<Option<QuestionRow>, StoreError> {
        self.read_project(project, move |conn, id| question::load_question(conn, id, question))
            .await
    }

    async fn load_pending_answers(&self, project: &str) -> Result<Vec<Answer>, StoreError> {
        self.read_project(project, question::load_pending_answers).await
    }

    async fn count_unanswered(&self, project: &str) -> Result<u64, StoreError> {
        self.read_project(project, question::count_unanswered).await
    }

    async fn load_task_mutations(
        &self,
        project: &str,
        task: TaskId,
    ) -> Result<Vec<MutationRow>, StoreError> {
        self.read_project(project, move |conn, id| mutation::load_task_mutations(conn, id, task))
            .await
    }

    async fn load_mutation(
        &self,
        project: &str,
        mutation: MutationId,
    ) -> Result<Option<MutationRow>, StoreError> {
        self.read_project(project, move |conn, id| mutation::load_mutation(conn, id, mutation))
            .await
    }

    async fn load_checkpoint(
        &self,
        project: &str,
        task: TaskId,
    ) -> Result<Option<StoredConversation>, StoreError> {
        self.read_project(project, move |conn, id| work::load_checkpoint(conn, id, task)).await
    }

    async fn load_gates(&self, project: &str) -> Result<Vec<GateRow>, StoreError> {
        self.read_project(project, limits::load_gates).await
    }

    async fn load_signatures(&self, project: &str) -> Result<Vec<SignatureRow>, StoreError> {
        self.read_project(project, limits::load_signatures).await
    }

    async fn load_costs(&self, project: &str, since_day: u64) -> Result<Vec<CostRow>, StoreError> {
        self.read_project(project, move |conn, project| {
            limits::load_costs(conn, project, since_day)
        })
        .await
    }

    async fn record_answer(&self, project: &str, answer: Answer) -> Result<(), AnswerError> {
        let name = project.to_owned();
        let give = move |state: &mut WriterState| {
            let given = state.run_transaction(|conn| match project::find_id(conn, &name)? {
                Some(project) => question::record_answer(conn, project, &answer),
                None => Ok(Err(AnswerError::NoQuestion(answer.question))),
            });
            given.unwrap_or_else(|error| Err(error.into()))
        };
        self.0.writer.run_work(give).await
    }

    async fn open_outbox(&self, project: &str, channel: &str) -> Result<Outbox, StoreError> {
        let name = project.to_owned();
        let channel = channel.to_owned();
        let open = move |state: &mut WriterState| {
            state.run_transaction(|conn| {
                project::open_outbox(conn, project::find_or_create(conn, &name)?, &channel)
            })
        };
        self.0.writer.run_work(open).await
    }

    async fn save_outbox(
        &self,
        project: &str,
        channel: &str,
        told: Outbox,
    ) -> Result<(), StoreError> {
        let name = project.to_owned();
        let channel = channel.to_owned();
        let put = move |state: &mut WriterState| {
            state.run_transaction(|conn| {
                project::upsert_outbox(conn, project::find_or_create(conn, &name)?, &channel, &told)
            })
        };
        self.0.writer.run_work(put).await
    }
}
