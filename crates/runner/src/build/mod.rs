//! The effects of a build on a git repository: agents work in worktrees of their own, and their
//! work is checked on the build's head, committed, and merged into the build's branch.
//!
//! An agent's statements about its work decide nothing. The work is judged by the content of its
//! worktree: first the allowed paths, then the checks, run by the supervisor on the head it would
//! land on.
//!
//! Design: `docs/design/build.md`.

mod act;
mod attempt;
mod baseline;
mod by_tests;
mod check;
mod checked;
mod commit;
mod confirm;
mod connect;
mod declared;
mod denied;
mod egress;
mod fewer_tests;
mod follow;
mod guarded;
mod left_out;
mod one_at_a_time;
mod prompt;
mod redact;
mod room;
mod settings;
mod setup;
mod think;
mod walls;
mod wording;
mod worker;
mod world;

pub use act::NOTHING_MERGED;
pub use left_out::save_left_out_work;
pub use settings::{AgentControl, BuildSettings, TaskGates, TaskSettings};
pub use worker::{ModelWorker, TaskWorker};
pub use world::BuildPerformer;
pub(crate) use world::{BuildContext, MergeTarget, failed_outcome};
