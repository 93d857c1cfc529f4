//! A reader of live events.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Bytes;
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use tokio::time;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::BuildId;
use unstuck_store::{BuildLookup, StoreError};

use super::cursor::EventStreamCursor;
use super::{EventHub, HEARTBEAT, SseFrame, SseFrameLookup};

/// Maximum size of one write, in bytes.
const CHUNK_BYTES_MAX: usize = 64 * 1_024;
/// Milliseconds after which a client reconnects.
const COME_BACK_MS: u32 = 1_000;

#[derive(Debug)]
pub(crate) struct FollowedProject {
    hub: Arc<EventHub>,
    /// The position of the last event that was written.
    at: u64,
    /// `true` once it has caught up: a reader that falls behind after that is too slow.
    live: bool,
    places: BuildLookup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventStreamFilter {
    All,
    Build(BuildId),
    /// Only the fact that there are new events.
    Hints,
}

#[derive(Debug)]
pub(crate) struct EventStreamReader {
    pub(crate) lanes: Vec<FollowedProject>,
    pub(crate) filter: EventStreamFilter,
    /// A counter that changes when there are new events in one of the lanes.
    pub(crate) news: watch::Receiver<u64>,
    /// The token that is cancelled when the server stops.
    pub(crate) stop: CancellationToken,
    /// `true` if positions are plain numbers.
    pub(crate) plain: bool,
}

enum EventStreamStep {
    Greet,
    Read,
    End,
}

impl FollowedProject {
    /// Follows a project from a position on, or from now on.
    pub(crate) fn new(hub: Arc<EventHub>, cursor: Option<&EventStreamCursor>) -> Self {
        let head = *hub.subscribe_head().borrow();
        let at = cursor.and_then(|cursor| cursor.position_in(&hub.project)).unwrap_or(head);
        // A position in the future belongs to an earlier store of the project.
        Self { at: at.min(head), live: false, places: BuildLookup::default(), hub }
    }

    /// Returns the next frames, if there are any; an error if the reader was too slow.
    async fn next_frames(&mut self) -> Result<Vec<SseFrame>, EventStreamError> {
        let frames = match self.hub.frames_after(self.at, CHUNK_BYTES_MAX) {
            SseFrameLookup::Frames(frames) => {
                self.live = true;
                frames
            }
            SseFrameLookup::TooLate if self.live => return Err(EventStreamError::TooSlow),
            SseFrameLookup::TooLate => self.hub.load_page(&mut self.places, self.at).await?,
        };
        if let Some(last) = frames.last() {
            self.at = last.seq;
        }
        Ok(frames)
    }
}

/// The reason why a stream ends.
enum EventStreamError {
    TooSlow,
    Unreadable,
}

impl From<StoreError> for EventStreamError {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "events could not be read");
        Self::Unreadable
    }
}

impl EventStreamReader {
    /// Returns the stream, which ends when the reader leaves, is too slow, or the server stops.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold((self, EventStreamStep::Greet), |(mut follow, step)| async move {
            let (text, step) = match step {
                EventStreamStep::Greet => {
                    (format!("retry: {COME_BACK_MS}\n\n"), EventStreamStep::Read)
                }
                EventStreamStep::Read => follow.read_chunk().await,
                EventStreamStep::End => return None,
            };
            Some((Ok(Bytes::from(text)), (follow, step)))
        })
    }

    async fn read_chunk(&mut self) -> (String, EventStreamStep) {
        loop {
            self.news.mark_unchanged();
            let mut text = String::new();
            let mut quiet = true;
            for lane in 0..self.lanes.len() {
                match self.lanes[lane].next_frames().await {
                    Ok(frames) => {
                        quiet &= frames.is_empty();
                        self.write_frames(&mut text, lane, &frames);
                    }
                    Err(EventStreamError::TooSlow) => {
                        text += &format_named_event(
                            "gap",
                            &format!("{{\"after\":\"{}\"}}", self.position_text()),
                        );
                        return (text, EventStreamStep::End);
                    }
                    Err(EventStreamError::Unreadable) => return (text, EventStreamStep::End),
                }
            }
            if !text.is_empty() {
                return (text, EventStreamStep::Read);
            }
            if !quiet {
                // None of them was for this reader; there may be more.
                continue;
            }
            tokio::select! {
                () = self.stop.cancelled() => {
                    return (format_named_event("restart", "{}"), EventStreamStep::End);
                }
                changed = self.news.changed() => if changed.is_err() {
                    return (String::new(), EventStreamStep::End);
                },
                () = time::sleep(HEARTBEAT) => return (":\n\n".to_owned(), EventStreamStep::Read),
            }
        }
    }

    fn write_frames(&self, text: &mut String, lane: usize, frames: &[SseFrame]) {
        let wanted = |frame: &&SseFrame| match self.filter {
            EventStreamFilter::All => true,
            EventStreamFilter::Build(build) => frame.build == Some(build),
            EventStreamFilter::Hints => false,
        };
        for frame in frames.iter().filter(wanted) {
            // JSON is UTF-8.
            let Ok(data) = std::str::from_utf8(&frame.text) else { continue };
            let _ = if self.plain {
                write!(text, "id: {}\n{data}", frame.seq)
            } else {
                write!(text, "id: {}\n{data}", self.position_at(lane, frame.seq))
            };
        }
        if self.filter == EventStreamFilter::Hints && !frames.is_empty() {
            let _ =
                write!(text, "id: {}\n{}", self.position_text(), format_named_event("news", "{}"));
        }
    }

    fn position_text(&self) -> String {
        match self.lanes.first() {
            Some(lane) if self.plain => lane.at.to_string(),
            _ => self.current_cursor().to_opaque(),
        }
    }

    fn position_at(&self, lane: usize, seq: u64) -> String {
        let mut cursor = self.current_cursor();
        cursor.set_position(&self.lanes[lane].hub.project, seq);
        cursor.to_opaque()
    }

    fn current_cursor(&self) -> EventStreamCursor {
        let mut cursor = EventStreamCursor::default();
        for lane in &self.lanes {
            cursor.set_position(&lane.hub.project, lane.at);
        }
        cursor
    }
}

/// Returns a named event that is not part of a journal.
fn format_named_event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
