//! The SQLite tables: rows ready to be written, and the statements that write and read them.

pub(super) mod event;
pub(super) mod limits;
pub(super) mod mutation;
pub(super) mod project;
pub(super) mod question;
pub(super) mod work;
