//! Live events: server-sent events.
//!
//! Each project has one [`Hub`]: it reads every event once from the store, makes a frame of it, and
//! keeps the latest frames for all readers. A returning reader reads from the store until it has
//! caught up; one that is too slow is told where to continue, and costs no memory meanwhile.

mod cursor;
mod follow;
mod frame;
mod hub;

pub(crate) use cursor::EventStreamCursor;
pub(crate) use follow::{EventStreamFilter, EventStreamReader, FollowedProject};
pub(crate) use hub::EventHub;
