//! Plans: what there is to do, and in which order it may be done.

mod call;
mod order;
mod spec;

pub use call::{Call, CommandCall, HttpCall, PullRequest, SecretHeader};
pub use order::{Plan, PlanError};
pub use spec::{GateKey, JobSpec, MutationKind, MutationSpec, ProbeCommand, ScopeSpec, TaskSpec};
