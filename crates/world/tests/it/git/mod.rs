//! The git operations on real repositories.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod failing;
mod history;
mod looking;
mod merging;
mod refs;
mod remote;
mod snapshot;
mod worktrees;

use crate::support::repo;
use unstuck_world::git::Git;

fn git(repo: &repo::Repo) -> Git {
    Git::new("git", &repo.root)
}
