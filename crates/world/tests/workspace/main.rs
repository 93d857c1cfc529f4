//! A task's worktree, on real repositories.

mod changing;
mod committing;
mod fencing;
mod killed;
mod landing;
mod preparing;
mod refusing;
#[path = "../support/repo.rs"]
mod repo;
#[path = "../support/stage.rs"]
mod stage;
mod taking_back;
