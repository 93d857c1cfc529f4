//! Repositories and worktrees that several parts are tried on.

pub(crate) mod repo;
pub(crate) mod stage;
