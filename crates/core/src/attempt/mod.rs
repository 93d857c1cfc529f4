//! Attempts: the work of an agent, and whether the next attempt is a different one.
//!
//! Pure functions over recorded data; nothing here runs, reads or waits for anything.
//! - [`DiffChange`] and [`Approach`]: the work of an attempt, and the digest that recognizes it again;
//! - [`LoopDetector`]: detection of an agent that loops inside one attempt;
//! - [`SeenErrors`]: whether the result of an agent's own command is an observation or a fault.
//!
//! Design: the engine, "Observation, failure, attempt".

mod action;
mod approach;
mod diff;
mod diff_file;
mod diff_header;
mod hasher;
mod mask;
mod observation;
mod shell;
mod stuck;

pub use action::{ACTION_CHARS_MAX, ActionOutcome, AgentAction, Observation, ToolKind};
pub(crate) use approach::CHANGED_NOTHING;
pub use approach::{Approach, SUMMARY_CHARS_MAX, approach_digest};
pub use diff::{DiffChange, DiffReader, FILE_CHARS_MAX, FILES_MAX, diff_digest};
pub use hasher::Digest;
pub use observation::{Judgement, SEEN_SIGNATURES_MAX, SeenErrors};
pub use stuck::{
    AgentStep, LoopDetector, LoopEvidence, LoopPattern, StepVerdict, StuckLimits, WINDOW_STEPS,
};
