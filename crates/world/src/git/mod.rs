//! The git command as typed operations.
//!
//! [`Git`] is the program and the repository it works on. Each file holds the operations of one
//! kind; git's output is parsed by pure functions in separate files: [`status`], [`raw`] and
//! [`worktrees`]. A failure becomes a fault by the operation and by facts: the exit code, a signal,
//! an error number, an existing lock file. Git reports some causes in prose only (a refused login,
//! a full disk); for those, and no others, the core's rules for foreign text apply.
//!
//! No operation runs code that an agent may have planted: hooks, external diff programs, text
//! conversions and file watchers are off. The caller of a commit runs the hooks that it has to
//! respect, under a guard.

mod adopt;
mod call;
mod commit;
mod fail;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod git;
mod history;
mod hooks;
mod locks;
mod lookup;
mod merge;
mod mode;
mod oid;
mod patch;
pub mod raw;
mod refs;
mod remote;
mod settings;
mod snapshot;
pub mod status;
mod submodule;
mod tree;
mod worktree;
pub mod worktrees;

pub use commit::{CommitAuthor, NewCommit};
pub use git::{Git, GitLayout};
pub use history::CommitSummary;
pub use hooks::HookSources;
pub use merge::MergeResult;
pub use mode::GitFileMode;
pub use oid::Oid;
pub use refs::{RefChange, RefSwapOutcome};
pub use remote::RemoteRef;
pub use snapshot::{RepositoryExposure, RepositorySnapshot, RestoreReport};
pub use submodule::{Submodule, find_local_submodules};

pub(crate) use call::REMOVED;
pub(crate) use fail::GitAction;
pub(crate) use snapshot::kept_ref_name;
