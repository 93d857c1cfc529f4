//! The checks that the supervisor runs itself; an agent's own claims never count.
//!
//! [`GateChecks`] are the commands of one gate, run one after the other in the worktree until one
//! is red. Before them, protected paths are restored from the base, so that no check passes because
//! it was edited. A red check is run once more: one that then passes is flaky, not red.
//! [`Baseline`] knows what was red before any agent worked. [`SecretScanner`] scans a change for
//! values that must not be committed.

mod baseline;
mod check;
mod checks;
mod definition;
mod inline_tests;
mod judge;
mod machine;
mod measure;
mod missing;
mod network;
mod outside;
mod secrets;
mod starting;

pub use baseline::{Baseline, BaselineCheck, BaselineMode};
pub use checks::{BaselineFailure, ChangePermissions, GateChecks, GateReport, GateVerdict};
pub use definition::{
    MissingDefinitions, find_defining_files, list_command_lines, list_test_patterns,
};
pub use measure::{BaselineRequirement, find_withheld, render_fence_denial};
pub use network::{lacks_network, render_network_denial, render_service_denial};
pub use outside::find_outside_fault;
pub use secrets::{SecretFinding, SecretScanner};
