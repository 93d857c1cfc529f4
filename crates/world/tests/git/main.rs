//! The git operations on real repositories.

mod failing;
mod looking;
mod merging;
mod refs;
mod remote;
#[path = "../support/repo.rs"]
mod repo;
mod snapshot;
