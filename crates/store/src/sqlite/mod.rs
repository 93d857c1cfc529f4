//! A store in a SQLite file, for a single machine.
//!
//! One thread writes (`writer`, `desk`), a few connections read (`readers`). The file is inspected before
//! anything is written (`open`), and locked per project (`lock`). Each table has its own file (`table`). The
//! layout is described in docs/design/store.md.

mod backup;
mod check;
mod desk;
mod fail;
mod header;
mod journal;
mod journaled;
mod load;
mod lock;
mod loss;
mod mark;
mod migrate;
mod open;
mod readers;
mod retain;
mod rows;
mod table;
mod value;
mod writer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::watch;
use tokio::task;
use unstuck_core::engine::{BuildId, MutationId, QuestionId, Recorded, RunId, TaskId};

use crate::checkpoint::Conversation;
use crate::error::StoreError;
use crate::outbox::Outbox;
use crate::store::{Answer, AnswerError, Claim, Holder, Page, QuestionPage, Store};
use crate::tables::{
    BuildRow, CostRow, GateRow, MutationRow, QuestionRow, RunRow, SignatureRow, TaskRow,
};

use check::Check;
use desk::{Claimed, Desk};
use journal::SqliteJournal;
use migrate::Step;
use open::{Marks, Opened};
use readers::Readers;
use table::{
    answer, build, checkpoint, cost, event, gate, mutation, outbox, project, question, run,
    signature, task as tasks,
};
use writer::Writer;

pub use journaled::Verified;
pub use loss::LossAccepted;

/// A store in a SQLite file. Clones share the same store.
#[derive(Clone, Debug)]
pub struct SqliteStore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    /// The file that was opened, by its device and inode.
    file: (u64, u64),
    // The order matters: the writer's connection is closed last and folds a long WAL into the file. Read-only
    // connections cannot.
    check: Check,
    readers: Readers,
    writer: Writer,
    written: Mutex<HashMap<String, watch::Sender<u64>>>,
}

impl SqliteStore {
    /// Opens the store in a file, or creates it. Blocks on the disk: call it where blocking is acceptable.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_with(path.into(), migrate::STEPS, Marks::Count)
    }

    /// Opens the store even if its journal ends before its mark: the first write records that this was
    /// accepted.
    fn open_despite_loss(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_with(path.into(), migrate::STEPS, Marks::DoNotCount)
    }

    fn open_with(path: PathBuf, steps: &[Step], marks: Marks) -> Result<Self, StoreError> {
        let opened = Opened::look(&path, marks);
        let conn = open::writer(&path, steps, marks)?;
        let file = open::identity(&path)?;
        let check = Check::default();
        let desk = Desk::new(conn, path.clone(), Arc::clone(&check.found), opened);
        let writer = Writer::start(desk, path.clone())?;
        let readers = Readers::new(path.clone());
        let written = Mutex::default();
        Ok(Self(Arc::new(Shared { path, file, check, readers, writer, written })))
    }

    /// Returns whether there is a store in a file, or a file beside it proves that there was one.
    pub fn was_made(path: &Path) -> bool {
        path.exists() || mark::beside(path).is_ok_and(|marks| !marks.is_empty())
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the result of the check of the whole file. It runs in the background after an unclean end;
    /// `None` until it is finished.
    pub fn checked(&self) -> Option<Result<(), StoreError>> {
        self.0.check.found.get().cloned()
    }

    /// Verifies the whole journal of a project, and the file.
    pub async fn verify(&self, project: &str) -> Result<Verified, StoreError> {
        let at = self.0.path.clone();
        let name = project.to_owned();
        let walk = move |conn: &Connection| {
            check::whole(conn, &at)?;
            match project::find(conn, &name)? {
                Some(id) => journaled::walk(conn, &at, id, &name),
                None => Ok(Verified { events: 0, last: 0 }),
            }
        };
        self.0.readers.read(walk).await
    }

    /// Copies a consistent state into a new file, while other processes read and write.
    pub async fn back_up(&self, to: PathBuf) -> Result<(), StoreError> {
        let from = self.0.path.clone();
        self.waiting(move || backup::copy(&from, &to)).await
    }

    /// Checks that a file is such a copy, and contains the project.
    pub fn check_copy(from: &Path, project: &str) -> Result<(), StoreError> {
        backup::check(from, project).map(drop)
    }

    /// Replaces the whole content by that of such a copy, atomically. The caller holds the project, whose
    /// state in memory is invalid afterwards.
    pub async fn restore(&self, from: PathBuf, project: &str) -> Result<(), StoreError> {
        let at = self.0.path.clone();
        let project = project.to_owned();
        self.waiting(move || backup::restore(&from, &at, &project)).await
    }

    /// Runs work on a blocking thread.
    async fn waiting(
        &self,
        work: impl FnOnce() -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let done = task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| {
            Err(StoreError::NotWritten { at: self.0.at(), cause: error.to_string() })
        })
    }

    /// Reads data of a project; returns the default for an unknown one.
    async fn read<T: Default + Send + 'static>(
        &self,
        project: &str,
        look: impl FnOnce(&Connection, i64) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let name = project.to_owned();
        let look = move |conn: &Connection| match project::find(conn, &name)? {
            Some(project) => Ok(look(conn, project)?),
            None => Ok(T::default()),
        };
        self.0.readers.read(look).await
    }
}

impl Shared {
    /// Returns the location for errors.
    fn at(&self) -> String {
        self.path.display().to_string()
    }

    /// Checks that the file is still the one that was opened: writes to another one, or to a removed one, are
    /// lost.
    fn is_there(&self) -> Result<(), StoreError> {
        if open::identity(&self.path)? == self.file {
            return Ok(());
        }
        let what = "another file was put in its place".to_owned();
        Err(StoreError::Damaged { at: self.at(), what })
    }

    fn written(&self, project: &str) -> watch::Sender<u64> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.entry(project.to_owned()).or_insert_with(|| watch::Sender::new(0)).clone()
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn claim(&self, project: &str, holder: &Holder) -> Result<Claim, StoreError> {
        let name = project.to_owned();
        let holder = holder.clone();
        let written = self.0.written(project);
        // In one job of the writer, where everything is already open: it has nothing else to do for a project
        // without a holder.
        let claim = move |desk: &mut Desk| desk.claim(&name, &holder, written);
        let Claimed { id, lock, start, state, tail } = self.0.writer.run(claim).await?;
        if !start.clean {
            self.0.check.begin(self.0.path.clone())?;
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

    fn subscribe(&self, project: &str) -> watch::Receiver<u64> {
        self.0.written(project).subscribe()
    }

    fn revision(&self) -> Result<u64, StoreError> {
        self.0.readers.revision()
    }

    async fn usable(&self, project: &str) -> Result<(), StoreError> {
        self.0.is_there()?;
        self.newest(project).await?;
        self.0.writer.run(|desk: &mut Desk| desk.usable()).await
    }

    async fn events(&self, project: &str, page: Page) -> Result<Vec<Recorded>, StoreError> {
        let events = self.read(project, move |conn, id| event::page(conn, id, page)).await?;
        if let Some(last) = events.last() {
            self.0.written(project).send_if_modified(|seq| {
                let news = last.seq > *seq;
                *seq = last.seq.max(*seq);
                news
            });
        }
        Ok(events)
    }

    async fn newest(&self, project: &str) -> Result<u64, StoreError> {
        self.read(project, event::newest).await
    }

    async fn decisions(&self, project: &str, run: RunId) -> Result<Vec<Recorded>, StoreError> {
        self.read(project, move |conn, id| event::decisions(conn, id, run)).await
    }

    async fn builds(&self, project: &str) -> Result<Vec<BuildRow>, StoreError> {
        self.read(project, build::all).await
    }

    async fn tasks(&self, project: &str, build: BuildId) -> Result<Vec<TaskRow>, StoreError> {
        self.read(project, move |conn, id| tasks::of_build(conn, id, build)).await
    }

    async fn task(&self, project: &str, task: TaskId) -> Result<Option<TaskRow>, StoreError> {
        self.read(project, move |conn, id| tasks::one(conn, id, task)).await
    }

    async fn runs(&self, project: &str, task: TaskId) -> Result<Vec<RunRow>, StoreError> {
        self.read(project, move |conn, id| run::of_task(conn, id, task)).await
    }

    async fn run(&self, project: &str, run: RunId) -> Result<Option<RunRow>, StoreError> {
        self.read(project, move |conn, id| run::one(conn, id, run)).await
    }

    async fn questions_page(
        &self,
        project: &str,
        page: QuestionPage,
    ) -> Result<Vec<QuestionRow>, StoreError> {
        self.read(project, move |conn, id| question::page(conn, id, page)).await
    }

    async fn question(
        &self,
        project: &str,
        question: QuestionId,
    ) -> Result<Option<QuestionRow>, StoreError> {
        self.read(project, move |conn, id| question::one(conn, id, question)).await
    }

    async fn answers(&self, project: &str) -> Result<Vec<Answer>, StoreError> {
        self.read(project, answer::waiting).await
    }

    async fn unanswered(&self, project: &str) -> Result<u64, StoreError> {
        self.read(project, question::unanswered).await
    }

    async fn mutations(&self, project: &str, task: TaskId) -> Result<Vec<MutationRow>, StoreError> {
        self.read(project, move |conn, id| mutation::of_task(conn, id, task)).await
    }

    async fn mutation(
        &self,
        project: &str,
        mutation: MutationId,
    ) -> Result<Option<MutationRow>, StoreError> {
        self.read(project, move |conn, id| mutation::one(conn, id, mutation)).await
    }

    async fn checkpoint(
        &self,
        project: &str,
        task: TaskId,
    ) -> Result<Option<Conversation>, StoreError> {
        self.read(project, move |conn, id| checkpoint::of_task(conn, id, task)).await
    }

    async fn gates(&self, project: &str) -> Result<Vec<GateRow>, StoreError> {
        self.read(project, gate::all).await
    }

    async fn signatures(&self, project: &str) -> Result<Vec<SignatureRow>, StoreError> {
        self.read(project, signature::all).await
    }

    async fn costs(&self, project: &str, since_day: u64) -> Result<Vec<CostRow>, StoreError> {
        self.read(project, move |conn, project| cost::since(conn, project, since_day)).await
    }

    async fn answer(&self, project: &str, answer: Answer) -> Result<(), AnswerError> {
        let name = project.to_owned();
        let give = move |desk: &mut Desk| {
            let given = desk.transaction(|conn| match project::find(conn, &name)? {
                Some(project) => answer::give(conn, project, &answer),
                None => Ok(Err(AnswerError::NoQuestion(answer.question))),
            });
            given.unwrap_or_else(|error| Err(error.into()))
        };
        self.0.writer.run(give).await
    }

    async fn outbox(&self, project: &str, channel: &str) -> Result<Outbox, StoreError> {
        let name = project.to_owned();
        let channel = channel.to_owned();
        let open = move |desk: &mut Desk| {
            desk.transaction(|conn| outbox::open(conn, project::make(conn, &name)?, &channel))
        };
        self.0.writer.run(open).await
    }

    async fn told(&self, project: &str, channel: &str, told: Outbox) -> Result<(), StoreError> {
        let name = project.to_owned();
        let channel = channel.to_owned();
        let put = move |desk: &mut Desk| {
            desk.transaction(|conn| outbox::put(conn, project::make(conn, &name)?, &channel, &told))
        };
        self.0.writer.run(put).await
    }
}
