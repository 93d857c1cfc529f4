//! What happens, as it happens: server-sent events.
//!
//! Each project has one [`Hub`]: it reads every event once from the store, makes a frame of it, and
//! keeps the latest of them for all who follow. Whoever comes back reads from the store until they
//! have caught up; whoever is too slow is told where to go on, and costs no memory meanwhile.

mod cursor;
mod follow;
mod frame;
mod hub;

pub(crate) use cursor::Cursor;
pub(crate) use follow::{Follow, Lane, Shown};
pub(crate) use hub::Hub;
