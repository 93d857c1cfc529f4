//! The server through its routes and its door, on a real store with a real loop behind its desk.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod answering;
mod control;
mod description;
mod desk;
mod events;
mod listing;
mod metrics;
mod pages;
mod random;
mod refusing;
mod served_projects;
mod sessions;
