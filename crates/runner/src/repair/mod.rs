//! Repairs the script of a job: an agent works in a worktree of the commit that the person has
//! checked out, what it did is judged there, and a repair that holds is committed and brought into
//! the person's branch, or proposed on a branch of its own.
//!
//! What lets an agent work and judges the work is the same as in a build; here are the fence of a
//! repair, its words, and the way it takes.
//!
//! Design: `docs/design/repair.md`.

mod note;
mod perform;
mod propose;
mod rights;
mod settings;
mod take;
mod words;

pub use perform::Repairer;
pub use settings::RepairSettings;
