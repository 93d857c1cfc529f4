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

pub use agent::wall_around;
pub use changes::{Change, ChangeKind, Content};
pub use commit::{Committed, Wording};
pub use ignored::name_ignored;
pub use integrate::Integrated;
pub use land::Landed;
pub use leftover::{Branch, Leftover};
pub use names::Place;
pub use own_code::own_links;
pub use prepare::Preparation;
pub use project::Project;
pub use remove::{Removed, Why, remove_folder};
pub use share::share;
pub use shell::Shell;
pub use take_back::TakenBack;
pub use workspace::Workspace;
