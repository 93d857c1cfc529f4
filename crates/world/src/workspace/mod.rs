//! The worktree and the branch of each task: preparing them, reading the changes, committing,
//! landing and removing them.
//!
//! Design: `docs/design/workspace.md`. In short: a task's base is a ref; its change is the
//! difference between the base and the files in the worktree, read through a separate index, so
//! that nothing an agent does to its own index, branch or `.git` matters; and every change that the
//! supervisor makes to the files goes through `relocate`, which can be repeated after a kill at any
//! point.
//!
//! The caller has exclusive access to the worktree: it holds the run's lock, or has just seen the
//! agent end.

mod agent;
mod backup;
mod by_product;
mod changes;
mod commit;
mod elsewhere;
mod footprint;
mod fresh;
mod hooks;
mod ignored;
mod in_place;
mod integrate;
mod land;
mod left;
mod leftover;
mod lent_index;
mod manifests;
mod names;
mod own_bytes;
mod own_code;
mod prepare;
mod private;
mod project;
mod relocate;
mod remove;
mod repository;
mod save;
mod set_up;
mod share;
mod shell;
mod state;
mod submodules;
mod take_back;
mod unshared;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod workspace;

pub use agent::build_wall_around;
pub use changes::{ChangeKind, WorktreeChange, WorktreeContent};
pub use commit::{CommitOutcome, CommitWording};
pub use ignored::render_ignored_names;
pub use integrate::IntegrationOutcome;
pub use land::LandingOutcome;
pub use leftover::{BranchStatus, LeftoverBranch};
pub use names::WorkspaceKey;
pub use own_code::find_own_links;
pub use prepare::WorkspacePreparation;
pub use project::ProjectRepository;
pub use remove::{RemovalOutcome, WorktreeKeepReason, remove_folder};
pub use share::share_into;
pub use shell::Shell;
pub use take_back::RevertReport;
pub use workspace::Workspace;
