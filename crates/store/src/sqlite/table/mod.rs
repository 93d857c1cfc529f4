//! The SQLite tables, one file each: rows ready to be written, and the statements that write and read them.

pub(super) mod answer;
pub(super) mod build;
pub(super) mod checkpoint;
pub(super) mod cost;
pub(super) mod event;
pub(super) mod gate;
pub(super) mod mutation;
pub(super) mod outbox;
pub(super) mod project;
pub(super) mod question;
pub(super) mod run;
pub(super) mod signature;
pub(super) mod snapshot;
pub(super) mod task;
