//! Notices to watchers of a project.

use std::sync::Arc;

use unstuck_core::engine::RecordedEvent;
use unstuck_core::time::Time;

/// A notice: an event became durable, or the store cannot write at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunnerNotice {
    /// An event is durable.
    Event {
        /// The recorded event.
        recorded: Arc<RecordedEvent>,
        /// The event in one plain sentence, if it is of interest to the operator.
        narration: Option<Arc<str>>,
    },
    /// The store cannot write at the moment; no effect is performed until it can.
    StoreWaiting {
        /// The store's error message.
        message: Arc<str>,
        /// The time of the next try.
        until: Time,
    },
    /// The store works again.
    StoreBack,
    /// The worker of a build has left, and the build may be without one now.
    Left,
    /// The reader was too slow and missed notices: it continues from the store.
    Gap,
}
