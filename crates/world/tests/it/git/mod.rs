//! The git operations on real repositories.

mod failing;
mod history;
mod looking;
mod merging;
mod refs;
mod remote;
mod snapshot;
mod worktrees;

use unstuck_testkit::stage::TestRepo;
use unstuck_world::git::Git;

fn git(repo: &TestRepo) -> Git {
    Git::new("git", &repo.root)
}
