//! A task's worktree, on real repositories.

mod by_products;
mod changing;
mod committing;
mod fencing;
mod killed;
mod landing;
mod leftover;
mod nested;
mod own_code;
mod preparing;
mod refusing;
mod sub_folder;
mod taking_back;

use unstuck_core::fault::Fault;
use unstuck_world::git::CommitAuthor;
use unstuck_world::workspace::{CommitOutcome, CommitWording, Workspace};

use crate::support::task_worktree::{NOW, Stage};

fn wording(message: &str) -> CommitWording {
    let person = CommitAuthor { name: "Ada".to_owned(), email: "ada@example.org".to_owned() };
    CommitWording { message: message.to_owned(), person, at: NOW }
}

/// Commits what the worktree holds.
async fn commit(
    workspace: &Workspace,
    wording: &CommitWording,
    stage: &Stage,
) -> Result<CommitOutcome, Fault> {
    workspace.commit_content(&workspace.capture_content().await?, wording, &stage.shell()).await
}
