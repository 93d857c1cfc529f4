//! Repairs of a job's script: an agent works in a worktree of the commit that the operator has
//! checked out, its work is judged there, and a repair that passes is committed and merged into the
//! operator's branch, or proposed on a branch of its own.
//!
//! Attempts and checks are shared with builds; this module adds the allowed paths of a repair, its
//! texts, and its way into use.
//!
//! Design: `docs/design/repair.md`.

mod landing;
mod note;
mod repairer;
mod wording;

pub use repairer::{RepairSettings, ScriptRepairer};
