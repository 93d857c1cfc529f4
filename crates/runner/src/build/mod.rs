//! The effects of a build on a git repository: agents work in worktrees of their own, and their
//! work is checked on the build's head, committed, and merged into the build's branch.
//!
//! An agent's statements about its work decide nothing. The work is judged by the content of its
//! worktree: first the allowed paths, then the checks, run by the supervisor on the head it would
//! land on.
//!
//! Design: `docs/design/build.md`.

mod action_fence;
mod actions;
mod agent_follower;
mod assignment;
mod attempt;
mod baseline;
mod calls;
mod check;
mod check_results;
mod context;
mod denials;
mod egress;
mod fewer_tests;
mod fresh_checkout;
mod last_words;
mod misplaced_work;
mod model_attempt;
mod performer;
mod protected_files;
mod red_base;
mod sandbox;
mod scope_check;
mod settings;
mod surroundings;
mod task_marks;

mod wording;
mod worktree;

pub use actions::NOTHING_CHANGED;
pub(crate) use context::{BuildContext, MergeTarget};
pub use performer::BuildPerformer;
pub use settings::{AgentControl, BuildSettings, ModelWorker, TaskGates, TaskSettings, TaskWorker};
pub use worktree::save_left_out_work;
