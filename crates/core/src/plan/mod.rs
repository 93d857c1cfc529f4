//! Plans: the tasks of a build and the order in which they may run.

mod call;
pub mod file;
mod order;
mod reach;
mod spec;

pub use call::{Call, CommandCall, HttpCall, PullRequest, SecretHeader, render_command_line};
pub use order::{Plan, PlanError};
pub use reach::ScopeReach;
pub use spec::{
    GateKey, JobSpec, MutationKind, MutationSpec, ProbeCommand, Request, ScopeSpec, SessionSpec,
    TaskSpec, UnknownPhase, WorkPhase,
};
