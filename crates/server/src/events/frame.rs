//! One event as it goes over the wire, made once for all who read it.

use axum::body::Bytes;
use unstuck_core::engine::{BuildId, Envelope};

/// An event, without the line that says where it stands: that differs between streams.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Its position in the project's journal.
    pub(crate) seq: u64,
    /// The build it belongs to, where it belongs to one.
    pub(crate) build: Option<BuildId>,
    /// `data: {…}` and an empty line.
    pub(crate) text: Bytes,
}

impl Frame {
    /// The frame of an event.
    pub(crate) fn of(envelope: &Envelope<'_>) -> Self {
        let mut text = b"data: ".to_vec();
        // Its keys are words and its numbers are numbers: nothing can fail.
        let _ = serde_json::to_writer(&mut text, envelope);
        text.extend_from_slice(b"\n\n");
        Self { seq: envelope.seq, build: envelope.build, text: text.into() }
    }
}

/// Something that is no event of a journal, by its name.
pub(crate) fn named(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
