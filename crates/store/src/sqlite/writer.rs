//! The writer's thread, and the queue to it.
//!
//! It takes all waiting batches, and those that arrive meanwhile, into one transaction, so that they share
//! one wait for the disk, and then resolves their receipts in order. All other writes run between two
//! transactions.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::oneshot;

use super::rows::QueuedBatch;
use super::writer_state::WriterState;
use crate::crash;
use crate::error::StoreError;

/// Capacity of the queue. A caller that appends to a full queue waits no longer than a commit.
const QUEUE_MAX: usize = 4_096;
/// Maximum number of batches per transaction.
const GROUP_BATCHES_MAX: usize = 1_024;
/// Maximum number of bytes of events and conversations per transaction; the batch that exceeds it is the
/// last.
const GROUP_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Time to wait for the next batch while the group is smaller than the last one was. A caller that waited for
/// the last commit is about to append the next batch, and sharing a wait for the disk is worth many of these.
/// A lone writer never waits.
const NEXT_WAIT: Duration = Duration::from_micros(200);

enum WriterJob {
    Append(QueuedBatch),
    Do(Box<dyn FnOnce(&mut WriterState) + Send>),
}

/// The handle of the writer's thread. Dropping it makes the thread finish the queue and end.
#[derive(Debug)]
pub(super) struct WriterHandle {
    jobs: Option<SyncSender<WriterJob>>,
    thread: Option<JoinHandle<()>>,
    at: PathBuf,
}

impl WriterHandle {
    pub(super) fn start(state: WriterState, at: PathBuf) -> Result<Self, StoreError> {
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        let work = move || serve_queue(state, &queue);
        let started = thread::Builder::new().name("unstuck-store".to_owned()).spawn(work);
        let thread = started.map_err(|error| StoreError::NotWritten {
            at: at.display().to_string(),
            cause: error.to_string(),
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), at })
    }

    /// Queues a batch. If the thread is gone, its receipt reports that.
    pub(super) fn queue_batch(&self, append: QueuedBatch) {
        if let Some(jobs) = &self.jobs {
            jobs.send(WriterJob::Append(append)).ok();
        }
    }

    /// Runs work on the writer's thread, after everything queued before.
    pub(super) async fn run_work<T, E>(
        &self,
        work: impl FnOnce(&mut WriterState) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (reply, done) = oneshot::channel();
        let job = move |state: &mut WriterState| {
            reply.send(work(state)).ok();
        };
        if let Some(jobs) = &self.jobs {
            jobs.send(WriterJob::Do(Box::new(job))).ok();
        }
        done.await.unwrap_or_else(|_| {
            let at = self.at.display().to_string();
            let cause = "the writer is gone".to_owned();
            Err(StoreError::NotWritten { at, cause }.into())
        })
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn serve_queue(mut state: WriterState, queue: &Receiver<WriterJob>) {
    let mut next = queue.recv().ok();
    let mut usual = 1;
    while let Some(job) = next.take() {
        match job {
            WriterJob::Do(work) => work(&mut state),
            WriterJob::Append(first) => {
                let mut group = BatchGroup::new(first, queue, usual);
                crash::crash_point();
                usual = state.commit_group(&mut group);
                next = group.other;
            }
        }
        if next.is_none() {
            next = queue.recv().ok();
        }
    }
    state.fold_log();
}

/// The batches of one transaction, in order of arrival. Each is written while later ones are still being
/// prepared, so that their callers and the disk do not wait for each other.
struct BatchGroup<'a> {
    first: Option<QueuedBatch>,
    queue: &'a Receiver<WriterJob>,
    /// Number of batches that may still be on their way.
    usual: usize,
    taken: usize,
    bytes: u64,
    /// The job that arrived after them, if it is not a batch.
    other: Option<WriterJob>,
}

impl<'a> BatchGroup<'a> {
    const fn new(first: QueuedBatch, queue: &'a Receiver<WriterJob>, usual: usize) -> Self {
        Self { first: Some(first), queue, usual, taken: 0, bytes: 0, other: None }
    }

    fn next_waiting(&mut self) -> Option<QueuedBatch> {
        let full = self.taken >= GROUP_BATCHES_MAX || self.bytes >= GROUP_BYTES_MAX;
        if full || self.other.is_some() {
            return None;
        }
        let waits = if self.taken < self.usual { NEXT_WAIT } else { Duration::ZERO };
        match self.queue.recv_timeout(waits).ok()? {
            WriterJob::Append(append) => Some(append),
            other @ WriterJob::Do(_) => {
                self.other = Some(other);
                None
            }
        }
    }
}

impl Iterator for BatchGroup<'_> {
    type Item = QueuedBatch;

    fn next(&mut self) -> Option<QueuedBatch> {
        let append = self.first.take().or_else(|| self.next_waiting())?;
        self.taken += 1;
        self.bytes += append.rows.byte_len();
        Some(append)
    }
}
