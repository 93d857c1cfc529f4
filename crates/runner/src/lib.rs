//! The runner of Unstuck: it drives a project.
//!
//! One loop per project ([`Runner`]): a command comes in, the core decides, the store writes the
//! events, and only then effects are performed. All other code talks to the loop through a
//! [`Handle`], in the same process or over the control socket.

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

pub use action_job::{ActionJob, Said};
pub use clock::{Clock, SystemClock};
pub use decider::{Decider, HeldBy, Intent, KnownJob, Look, Looked, PermanentAction, Undecided};
pub use gates::GateMirror;
pub use handle::{CommandError, Decided, Handle};
pub use kick::kicks;
pub use ledger::{Action, Settled};
pub use notice::Notice;
pub use probe::{IDEMPOTENCY_KEY, Prober};
pub use results::{RESULT_BYTES_MAX, Results};
pub use runner::{Ended, Runner, Setup};
pub use runs::action_lock;
pub use script::{Script, ScriptWorld};
pub use succession::Succession;
pub use turn::Turns;
pub use world::{Order, Report, Scope, World};
