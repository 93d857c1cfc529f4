//! What is told to whoever watches.

use std::sync::Arc;

use unstuck_core::engine::Recorded;
use unstuck_core::time::Time;

/// Something durable happened, or cannot at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An event is durable.
    Event {
        /// The event.
        recorded: Arc<Recorded>,
        /// The same in one plain sentence, where a person would want to know.
        narration: Option<Arc<str>>,
    },
    /// The store takes nothing at the moment; nothing acts until it does.
    StoreWaiting {
        /// What it said.
        message: Arc<str>,
        /// When it is tried again.
        until: Time,
    },
    /// The store works again.
    StoreBack,
    /// Somebody who performed a build is gone, and it may be nobody's now.
    Left,
    /// The reader was too slow and missed some: read on from the store.
    Gap,
}
