//! Performs the effects of a build on a git repository: agents work in worktrees of their own, what
//! they left is checked on the build's head, committed, and brought onto the build's branch.
//!
//! What an agent says about its work decides nothing here. It is judged by what lies in its
//! worktree: the fence first, then the checks, run by us on the head it would land on.
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
pub use left_out::take_left_out;
pub use settings::{BuildSettings, Control, Gates, TaskSettings};
pub use worker::{ModelWorker, Worker};
pub use world::BuildWorld;
pub(crate) use world::{Onto, Shared, failed};
