//! The worktree and the branch of each task: preparing them, reading the changes, committing,
//! landing and removing them.
//!
//! Design: `docs/design/workspace.md`. In short: a task's base is a ref; its change is the
//! difference between the base and the files in the worktree, read through a separate index, so
//! that nothing an agent does to its own index, branch or `.git` matters; and every change that the
//! supervisor makes to the files goes through `Workspace::relocate_to`, which can be repeated after
//! a kill at any point.
//!
//! The caller has exclusive access to the worktree: it holds the run's lock, or has just seen the
//! agent end.

mod agent;
mod agent_files;
mod backup;
mod changes;
mod commit;
mod ecosystem;
mod elsewhere;
mod finish;
mod footprint;
mod fresh;
mod in_place;
mod leftovers;
mod nested;
mod own_code;
mod prepare;
mod private;
mod project;
mod repository;
mod shared;
mod shell;
mod state;
mod submodules;
mod undone;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod workspace;

pub use agent::build_wall_around;
pub use changes::{ChangeKind, RevertReport, WorktreeChange, WorktreeContent};
pub use commit::{CommitOutcome, CommitWording, to_failed_push, to_refused_push};
pub(crate) use ecosystem::{INSTALLED, is_own_program};
pub use elsewhere::{COMMITTED_SIZE, SetAsideFiles, render_path_names};
pub use finish::{
    IntegrationOutcome, LandingOutcome, RemovalOutcome, WorktreeKeepReason, remove_folder,
};
pub use nested::DissolvedRepository;
pub use own_code::find_own_links;
pub use prepare::WorkspacePreparation;
pub use project::{BranchStatus, LeftoverBranch, ProjectRepository};
pub use shared::share_into;
pub use shell::Shell;
pub use state::WorkspaceKey;
pub use undone::UndoneCommits;
pub use workspace::Workspace;
