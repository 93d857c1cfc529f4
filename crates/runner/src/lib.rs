//! The runner of Unstuck: it drives a project.
//!
//! One loop per project ([`Runner`]): a command comes in, the core decides, the store writes the
//! events, and only then effects are performed. All other code talks to the loop through a
//! [`RunnerHandle`], in the same process or over the control socket.

#![expect(
    clippy::result_large_err,
    reason = "a fault is the error of everything that acts; it carries its facts, and it is rare"
)]

pub mod agent;
pub mod build;
pub mod control;
mod decider;
mod effects;
mod event_loop;
pub mod jobs;
mod ledger;
pub mod notify;
pub mod repair;
pub mod report;

pub use decider::{
    DecideError, Decider, DeciderSuccession, HoldReason, Intent, KnownJob, PermanentAction,
    StateQuery, StateQueryResult, collect_kick_commands,
};
pub use effects::{
    EffectRequest, EffectResult, PerformScope, Performer, TaskLocks, action_lock_path,
};
pub use event_loop::{
    Clock, CommandError, DurableDecision, GateMirror, Runner, RunnerHandle, RunnerNotice,
    RunnerResult, RunnerSetup, SystemClock,
};
pub use jobs::{ActionJob, ActionJobResult, ScriptCommand, ScriptPerformer};
pub use ledger::{
    ActionProber, ActionResult, IDEMPOTENCY_KEY, LedgerAction, RESULT_BYTES_MAX, ResultFiles,
};
