//! The runner of Unstuck: it drives a project.
//!
//! One loop per project ([`Runner`]): a command comes in, the core decides, the store writes the
//! events, and only then effects are performed. All other code talks to the loop through a
//! [`RunnerHandle`], in the same process or over the control socket.

#![expect(
    clippy::result_large_err,
    reason = "a fault is the error of everything that acts; it carries its facts, and it is rare"
)]

mod action_job;
pub mod agent;
mod answers;
pub mod build;
mod checkpoint;
mod clean;
mod clock;
pub mod control;
mod decider;
mod gates;
mod handle;
pub mod jobs;
mod kick;
mod ledger;
mod lock;
mod notice;
pub mod notify;
mod pending;
mod probe;
mod recover;
mod release;
mod reload;
pub mod repair;
pub mod report;
mod results;
mod runner;
mod runs;
mod script;
mod succession;
mod timer;
mod turn;
mod under_way;
mod work;
mod world;

pub use action_job::{ActionJob, ActionJobResult};
pub use clock::{Clock, SystemClock};
pub use decider::{
    DecideError, Decider, HoldReason, Intent, KnownJob, PermanentAction, StateQuery,
    StateQueryResult,
};
pub use gates::GateMirror;
pub use handle::{CommandError, DurableDecision, RunnerHandle};
pub use kick::collect_kick_commands;
pub use ledger::{ActionResult, LedgerAction};
pub use notice::RunnerNotice;
pub use probe::{ActionProber, IDEMPOTENCY_KEY};
pub use results::{RESULT_BYTES_MAX, ResultFiles};
pub use runner::{Runner, RunnerResult, RunnerSetup};
pub use runs::action_lock_path;
pub use script::{ScriptCommand, ScriptPerformer};
pub use succession::DeciderSuccession;
pub use turn::TaskLocks;
pub use world::{EffectRequest, EffectResult, PerformScope, Performer};
