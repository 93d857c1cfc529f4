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
use unstuck_store::{Places, StoreError};

use super::cursor::Cursor;
use super::frame::{Frame, named};
use super::hub::{Found, HEARTBEAT, Hub};

/// Maximum size of one write, in bytes.
const CHUNK_BYTES_MAX: usize = 64 * 1_024;
/// Milliseconds after which a client reconnects.
const COME_BACK_MS: u32 = 1_000;

/// A project that is followed.
#[derive(Debug)]
pub(crate) struct Lane {
    hub: Arc<Hub>,
    /// The position of the last event that was written.
    at: u64,
    /// `true` once it has caught up: a reader that falls behind after that is too slow.
    live: bool,
    places: Places,
}

/// The events that a reader gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Every event.
    All,
    /// The events of one build.
    Build(BuildId),
    /// Only the fact that there are new events.
    Hints,
}

/// A reader of live events.
#[derive(Debug)]
pub(crate) struct Follow {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) shown: Shown,
    /// A counter that changes when there are new events in one of the lanes.
    pub(crate) news: watch::Receiver<u64>,
    /// The token that is cancelled when the server stops.
    pub(crate) stop: CancellationToken,
    /// `true` if positions are plain numbers.
    pub(crate) plain: bool,
}

/// The next step of a stream.
enum Step {
    Greet,
    Read,
    End,
}

impl Lane {
    /// Follows a project from a position on, or from now on.
    pub(crate) fn new(hub: Arc<Hub>, cursor: Option<&Cursor>) -> Self {
        let head = *hub.head().borrow();
        let at = cursor.and_then(|cursor| cursor.at(&hub.project)).unwrap_or(head);
        // A position in the future belongs to an earlier store of the project.
        Self { at: at.min(head), live: false, places: Places::default(), hub }
    }

    /// Returns the next frames, if there are any; an error if the reader was too slow.
    async fn next(&mut self) -> Result<Vec<Frame>, Behind> {
        let frames = match self.hub.after(self.at, CHUNK_BYTES_MAX) {
            Found::Frames(frames) => {
                self.live = true;
                frames
            }
            Found::TooLate if self.live => return Err(Behind::TooSlow),
            Found::TooLate => self.hub.page(&mut self.places, self.at).await?,
        };
        if let Some(last) = frames.last() {
            self.at = last.seq;
        }
        Ok(frames)
    }
}

/// The reason why a stream ends.
enum Behind {
    TooSlow,
    Unreadable,
}

impl From<StoreError> for Behind {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "events could not be read");
        Self::Unreadable
    }
}

impl Follow {
    /// Returns the stream, which ends when the reader leaves, is too slow, or the server stops.
    pub(crate) fn stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold((self, Step::Greet), |(mut follow, step)| async move {
            let (text, step) = match step {
                Step::Greet => (format!("retry: {COME_BACK_MS}\n\n"), Step::Read),
                Step::Read => follow.read().await,
                Step::End => return None,
            };
            Some((Ok(Bytes::from(text)), (follow, step)))
        })
    }

    async fn read(&mut self) -> (String, Step) {
        loop {
            self.news.mark_unchanged();
            let mut text = String::new();
            let mut quiet = true;
            for lane in 0..self.lanes.len() {
                match self.lanes[lane].next().await {
                    Ok(frames) => {
                        quiet &= frames.is_empty();
                        self.write(&mut text, lane, &frames);
                    }
                    Err(Behind::TooSlow) => {
                        text += &named("gap", &format!("{{\"after\":\"{}\"}}", self.position()));
                        return (text, Step::End);
                    }
                    Err(Behind::Unreadable) => return (text, Step::End),
                }
            }
            if !text.is_empty() {
                return (text, Step::Read);
            }
            if !quiet {
                // None of them was for this reader; there may be more.
                continue;
            }
            tokio::select! {
                () = self.stop.cancelled() => {
                    return (named("restart", "{}"), Step::End);
                }
                changed = self.news.changed() => if changed.is_err() {
                    return (String::new(), Step::End);
                },
                () = time::sleep(HEARTBEAT) => return (":\n\n".to_owned(), Step::Read),
            }
        }
    }

    fn write(&self, text: &mut String, lane: usize, frames: &[Frame]) {
        let wanted = |frame: &&Frame| match self.shown {
            Shown::All => true,
            Shown::Build(build) => frame.build == Some(build),
            Shown::Hints => false,
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
        if self.shown == Shown::Hints && !frames.is_empty() {
            let _ = write!(text, "id: {}\n{}", self.position(), named("news", "{}"));
        }
    }

    /// Returns the position of the reader, as text.
    fn position(&self) -> String {
        match self.lanes.first() {
            Some(lane) if self.plain => lane.at.to_string(),
            _ => self.cursor().text(),
        }
    }

    fn position_at(&self, lane: usize, seq: u64) -> String {
        let mut cursor = self.cursor();
        cursor.set(&self.lanes[lane].hub.project, seq);
        cursor.text()
    }

    fn cursor(&self) -> Cursor {
        let mut cursor = Cursor::default();
        for lane in &self.lanes {
            cursor.set(&lane.hub.project, lane.at);
        }
        cursor
    }
}
