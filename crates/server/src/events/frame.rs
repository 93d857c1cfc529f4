//! An event in its wire format, made once for all readers.

use axum::body::Bytes;
use unstuck_core::engine::{BuildId, EventEnvelope};

/// An event, without the line of its position, which differs between streams.
#[derive(Clone, Debug)]
pub(crate) struct SseFrame {
    /// The position in the project's journal.
    pub(crate) seq: u64,
    /// The build that the event belongs to, if any.
    pub(crate) build: Option<BuildId>,
    /// The text `data: {…}` and an empty line.
    pub(crate) text: Bytes,
}

impl SseFrame {
    /// Serializes an event.
    pub(crate) fn from_envelope(envelope: &EventEnvelope<'_>) -> Self {
        let mut text = b"data: ".to_vec();
        // The keys are strings and the numbers finite, so that serialization cannot fail.
        let _ = serde_json::to_writer(&mut text, envelope);
        text.extend_from_slice(b"\n\n");
        Self { seq: envelope.seq, build: envelope.build, text: text.into() }
    }
}

/// Returns a named event that is not part of a journal.
pub(crate) fn format_named_event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
