//! Repositories and worktrees that several parts are tried on.

#![expect(
    clippy::unwrap_used,
    clippy::result_large_err,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

pub(crate) mod repo;
pub(crate) mod stage;
