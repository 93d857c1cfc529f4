//! The checks that the supervisor runs itself; an agent's own claims never count.
//!
//! [`Checks`] are the commands of one gate, run one after the other in the worktree until one is
//! red. Before them, protected paths are restored from the base, so that no check passes because it
//! was edited. A red check is run once more: one that then passes is flaky, not red. [`Baseline`]
//! knows what was red before any agent worked. [`Secrets`] scans a change for values that must not
//! be committed.

mod baseline;
mod check;
mod checks;
mod definition;
mod kept;
mod makefile;
mod missing;
mod network;
mod secrets;

pub use baseline::{Baseline, BaselineCheck, BaselineMode};
pub use checks::{Checks, Held, RedAtBase, Seen, Verdict};
pub use definition::{MissingDefinitions, defining_files};
pub use kept::{Wanted, kept_by_fence};
pub use network::{kept_from_network, kept_from_service};
pub use secrets::{Finding, Secrets};
