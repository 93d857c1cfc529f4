//! A task's worktree, on real repositories.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::result_large_err,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod by_products;
mod changing;
mod committing;
mod fencing;
mod killed;
mod landing;
mod leftover;
mod own_code;
mod preparing;
mod refusing;
mod taking_back;

use crate::support::{repo, stage};
use unstuck_core::fault::Fault;
use unstuck_world::git::CommitAuthor;
use unstuck_world::workspace::{CommitOutcome, CommitWording, Workspace};

fn wording(message: &str) -> CommitWording {
    let person = CommitAuthor { name: "Ada".to_owned(), email: "ada@example.org".to_owned() };
    CommitWording { message: message.to_owned(), person, at: stage::NOW }
}

/// Commits what the worktree holds.
async fn commit(
    workspace: &Workspace,
    wording: &CommitWording,
    stage: &stage::Stage,
) -> Result<CommitOutcome, Fault> {
    workspace.commit_content(&workspace.capture_content().await?, wording, &stage.shell()).await
}
