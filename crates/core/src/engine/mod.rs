//! The engine: turns commands into events, from which the effects for the runner follow.
//!
//! [`decide`] is pure: no I/O, no clock, no random source of its own. It changes a [`State`] only
//! by events, so replaying the journal gives the same state. `on/` handles the commands,
//! `react/` reacts to faults, `flow/` moves work forward, and `apply/` applies events to the state.
//!
//! ```
//! use std::sync::Arc;
//! use unstuck_core::engine::{Command, Event, EffectOutcome, Rng, State, decide};
//! use unstuck_core::fault::{Auth, Fault};
//! use unstuck_core::plan::{Plan, TaskSpec};
//! use unstuck_core::policy::{Amount, Policy};
//! use unstuck_core::time::Time;
//!
//! let (mut state, policy, now) = (State::new("shop"), Policy::default(), Time::from_millis(1));
//! let mut rng = Rng::for_decision("shop", state.seq());
//! let plan = Plan::new(vec![TaskSpec { name: "deploy".into(), ..TaskSpec::default() }])?;
//! let start = Command::StartBuild { plan: Arc::new(plan), slots: 1, in_place: false };
//! decide(&mut state, start, &policy, now, &mut rng)?;
//!
//! // The agent works; then the hosting account refuses the key.
//! let effect = state.outstanding_effects()[0].id;
//! let fault = Fault::auth_invalid("deploy", "403", Auth::default());
//! let outcome = EffectOutcome::Failed { fault: Arc::new(fault), approach: None };
//! let result = Command::Settle { effect, outcome, spent: Amount::ZERO };
//! let events = decide(&mut state, result, &policy, now, &mut rng)?;
//!
//! // A person is asked at once, and the decision says why.
//! let asked = events.iter().find(|e| matches!(e.event, Event::QuestionAsked { .. })).unwrap();
//! let why = asked.why.as_ref().unwrap();
//! assert_eq!(why.rule.sentence(), "Trying again cannot help: a person is needed.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apart;
mod apply;
mod ask;
mod build;
mod caps;
mod checked;
mod command;
mod effect;
mod end;
mod envelope;
mod event;
mod flow;
mod gate;
mod ids;
mod invariant;
mod ledger;
mod on;
mod question;
mod react;
mod report;
mod run;
mod setbacks;
mod signatures;
mod state;
mod task;
mod transition;
mod why;

pub use apart::Exclusivity;
pub use build::{Build, BuildState, RaisedDay};
pub use caps::{BudgetLeft, budget_left};
pub use checked::{CHECK_CHARS_MAX, CHECKS_LISTED_MAX, Check, CheckVerdict, Checked, RedCheck};
pub use command::{Command, CommandIssuer, CommandRejection, Wish};
pub use effect::{Effect, EffectChange, EffectKind, requested_effects};
pub use envelope::{EventEnvelope, EventIds};
pub use event::{Event, PauseCause, Raised, Reconciled, RecordedEvent};
pub use gate::{AccountGate, CLOSINGS_KEPT_MAX, GateClosing, GateState};
pub use ids::{BuildId, EffectId, MutationId, QuestionId, RunId, TaskId};
pub use invariant::{BrokenInvariant, ReplayError};
pub use ledger::{DoubtedAction, Mutation, MutationState, Occurrence};
pub use on::decide;
pub use question::{ActionFacts, Question, QuestionEnd, Subject, Tried};
pub use report::{EffectOutcome, NOTE_CHARS_MAX, ProgressReport, RunNote, SessionReport};
pub use run::{Next, Operation, Phase, Run, Start, Status, Step};
pub use setbacks::{Repairs, Setbacks};
pub use signatures::{APPROACHES_KEPT_MAX, FailedApproach, SignatureRecord, Signatures};
pub use state::{HandledRequest, State};
pub use task::{
    Allowance, ChargedTries, Counters, Guidance, JobFailures, Refused, SkipReason, Task, TaskState,
    TaskStateKind, Transient,
};
pub use why::{Count, Rule, Why};

pub use crate::chance::Rng;
pub use crate::plan::GateKey;
