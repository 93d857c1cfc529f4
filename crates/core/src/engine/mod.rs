//! The engine: commands in, events out; what the outside must do follows from the events.
//!
//! [`decide`] is pure: no I/O, no clock, no random source of its own. It changes a [`State`] only
//! by events, so replaying the journal gives the same state. One file per command in `on/`; what
//! a fault leads to in `react/`; how work moves on in `flow/`; what events do in `apply/`.

mod apply;
mod build;
mod command;
mod decide;
mod effect;
mod effects;
mod event;
mod flow;
mod gate;
mod ids;
mod ledger;
mod on;
mod pairs;
mod question;
mod react;
mod run;
mod signatures;
mod state;
mod table;
mod task;
mod why;

pub use build::{Build, BuildState};
pub use command::{Command, Outcome, Progress, Rejected};
pub use decide::decide;
pub use effect::{Effect, Start, Work};
pub use effects::effects;
pub use event::{Event, PauseCause, Raised, Reconciled, Recorded};
pub use gate::{Gate, GateState};
pub use ids::{BuildId, EffectId, MutationId, QuestionId, RunId, TaskId};
pub use ledger::{Mutation, MutationState, Occurrence};
pub use question::{Question, QuestionEnd, Subject, Tried};
pub use run::{Next, Operation, Phase, Run, Status, Step};
pub use signatures::{APPROACHES_KEPT_MAX, FailedApproach, Record, Signatures};
pub use state::State;
pub use task::{
    Allowance, Charged, Counters, Guidance, Left, Standing, Task, TaskState, Transient,
};
pub use why::{Count, Rule, Why};

pub use crate::chance::Rng;
pub use crate::plan::GateKey;
