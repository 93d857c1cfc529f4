//! Live events: server-sent events.
//!
//! Each project has one [`EventHub`]: it reads every event once from the store, makes a frame of it, and
//! keeps the latest frames for all readers. A returning reader reads from the store until it has
//! caught up; one that is too slow is told where to continue, and costs no memory meanwhile.

mod cursor;
mod reader;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::{Notify, watch};
use tokio::time::{self, Instant};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{BuildId, EventEnvelope};
use unstuck_store::{BuildLookup, EventPage, Store, StoreError};

pub(crate) use cursor::EventStreamCursor;
pub(crate) use reader::{EventStreamFilter, EventStreamReader, FollowedProject};

/// Maximum number of frames that are kept for readers; a reader that is further behind reads from
/// the store, or is told that it was too slow.
const FRAMES_KEPT_MAX: usize = 4_096;
/// Maximum size of the kept frames, in bytes.
const BYTES_KEPT_MAX: usize = 8 * 1_024 * 1_024;
/// Number of events that are read at a time.
const PAGE_EVENTS: u32 = 512;
/// Delay within which new events are batched: a thousand readers are woken twenty times a second,
/// not once for each event.
const BATCH: Duration = Duration::from_millis(50);
/// Interval at which the store is read without a hint, because a process that wrote and died has
/// sent none.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// An event, without the line of its position, which differs between streams.
#[derive(Clone, Debug)]
struct SseFrame {
    /// The position in the project's journal.
    seq: u64,
    /// The build that the event belongs to, if any.
    build: Option<BuildId>,
    /// The text `data: {…}` and an empty line.
    text: Bytes,
}

impl SseFrame {
    fn from_envelope(envelope: &EventEnvelope<'_>) -> Self {
        let mut text = b"data: ".to_vec();
        // The keys are strings and the numbers finite, so that serialization cannot fail.
        let _ = serde_json::to_writer(&mut text, envelope);
        text.extend_from_slice(b"\n\n");
        Self { seq: envelope.seq, build: envelope.build, text: text.into() }
    }
}

/// The live events of one project.
#[derive(Debug)]
pub(crate) struct EventHub {
    project: Arc<str>,
    store: Arc<dyn Store>,
    ring: Mutex<SseFrameRing>,
    head: watch::Sender<u64>,
    /// The hint that there may be new events.
    nudged: Notify,
}

/// The latest frames, without gaps.
#[derive(Debug, Default)]
struct SseFrameRing {
    frames: VecDeque<SseFrame>,
    bytes: usize,
}

#[derive(Debug)]
enum SseFrameLookup {
    /// All frames up to now, or a part of them.
    Frames(Vec<SseFrame>),
    /// The position is too old to be in the ring.
    TooLate,
}

impl EventHub {
    /// Makes the hub of a project, which begins with events from now on.
    pub(crate) async fn new(
        project: Arc<str>,
        store: Arc<dyn Store>,
    ) -> Result<Arc<Self>, StoreError> {
        let head = watch::Sender::new(store.load_newest_seq(&project).await?);
        let ring = Mutex::default();
        let nudged = Notify::new();
        Ok(Arc::new(Self { project, store, ring, head, nudged }))
    }

    /// Wakes the reader, because there may be new events.
    pub(crate) fn wake_reader(&self) {
        self.nudged.notify_one();
    }

    /// Returns a receiver of the newest event's position.
    pub(crate) fn subscribe_head(&self) -> watch::Receiver<u64> {
        self.head.subscribe()
    }

    /// Reads events until `stop`.
    pub(crate) async fn run(&self, tick: watch::Sender<u64>, stop: CancellationToken) {
        let mut places = BuildLookup::default();
        let mut written = self.store.subscribe_to_project(&self.project);
        loop {
            if let Err(error) = self.read_new_events(&mut places, &tick).await {
                tracing::warn!(project = %self.project, %error, "events could not be read");
            }
            let read_at = Instant::now();
            tokio::select! {
                () = stop.cancelled() => return,
                _ = written.changed() => {}
                () = self.nudged.notified() => {}
                () = time::sleep(HEARTBEAT) => {}
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = time::sleep_until(read_at + BATCH) => {}
            }
            written.mark_unchanged();
        }
    }

    async fn read_new_events(
        &self,
        places: &mut BuildLookup,
        tick: &watch::Sender<u64>,
    ) -> Result<(), StoreError> {
        loop {
            let after = *self.head.borrow();
            let frames = self.load_page(places, after).await?;
            let Some(newest) = frames.last().map(|frame| frame.seq) else { return Ok(()) };
            self.lock_ring().push(frames);
            self.head.send_replace(newest);
            tick.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    async fn load_page(
        &self,
        places: &mut BuildLookup,
        after: u64,
    ) -> Result<Vec<SseFrame>, StoreError> {
        let page = EventPage { after, limit: PAGE_EVENTS };
        let events = self.store.load_events(&self.project, page).await?;
        let mut frames = Vec::with_capacity(events.len());
        for recorded in &events {
            let about =
                places.resolve_subject(self.store.as_ref(), &self.project, recorded).await?;
            let mut envelope = recorded.to_envelope(&self.project);
            (envelope.build, envelope.task) = (about.build, about.task);
            frames.push(SseFrame::from_envelope(&envelope));
        }
        Ok(frames)
    }

    /// Returns the frames after a position, up to `bytes_max` and at least one.
    fn frames_after(&self, seq: u64, bytes_max: usize) -> SseFrameLookup {
        let ring = self.lock_ring();
        if seq >= *self.head.borrow() {
            return SseFrameLookup::Frames(Vec::new());
        }
        let Some(first) = ring.frames.front().map(|frame| frame.seq) else {
            return SseFrameLookup::TooLate;
        };
        let Some(skip) = (seq + 1).checked_sub(first) else { return SseFrameLookup::TooLate };
        let mut bytes = 0;
        let within = |frame: &&SseFrame| {
            bytes += frame.text.len();
            bytes <= bytes_max || bytes == frame.text.len()
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        SseFrameLookup::Frames(ring.frames.iter().skip(skip).take_while(within).cloned().collect())
    }

    fn lock_ring(&self) -> MutexGuard<'_, SseFrameRing> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SseFrameRing {
    fn push(&mut self, frames: Vec<SseFrame>) {
        for frame in frames {
            self.bytes += frame.text.len();
            self.frames.push_back(frame);
        }
        while self.frames.len() > FRAMES_KEPT_MAX || self.bytes > BYTES_KEPT_MAX {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.bytes -= oldest.text.len();
        }
    }
}
