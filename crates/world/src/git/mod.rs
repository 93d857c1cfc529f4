//! The git command as typed operations.
//!
//! [`Git`] is the program and the repository it works on. Each file holds the operations of one
//! kind; git's output is parsed by pure functions. A failure becomes a fault by the operation and
//! by facts: the exit code, a signal, an error number, an existing lock file. Git reports some
//! causes in prose only (a refused login, a full disk); for those, and no others, the core's rules
//! for foreign text apply.
//!
//! No operation runs code that an agent may have planted: hooks, external diff programs, text
//! conversions and file watchers are off. The caller of a commit runs the hooks that it has to
//! respect, under a guard.

mod agent_repository;
mod call;
mod commit;
mod fail;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod git;
mod layout;
mod object;
pub mod raw;
mod records;
mod refs;
mod remote;
mod snapshot;
pub mod status;
mod submodule;
mod tree;

pub use commit::{CommitAuthor, CommitSummary, MergeResult, NewCommit};
pub use git::Git;
pub use layout::{GitLayout, HookSources, Worktree, parse_worktrees};
pub use object::{DifferenceKind, GitFileMode, Oid};
pub use refs::{RefChange, RefSwapOutcome};
pub use snapshot::{RepositoryExposure, RepositorySnapshot, RestoreReport};
pub use submodule::{Submodule, find_local_submodules};

pub(crate) use call::REMOVED;
pub(crate) use fail::GitAction;
pub(crate) use records::{join_paths, parse_ref, split_paths};
pub(crate) use snapshot::kept_ref_name;
