//! The git operations on real repositories.

mod failing;
mod looking;
mod merging;
mod refs;
mod remote;
#[path = "../support/repo.rs"]
mod repo;
mod snapshot;

use unstuck_world::git::Git;

fn git(repo: &repo::Repo) -> Git {
    Git::at("git", &repo.root)
}
