//! Attempts: what an agent tried, and whether the next try is really a different one.
//!
//! Pure functions over recorded data; nothing here runs, reads or waits for anything.
//! - [`Change`] and [`Approach`]: what an attempt did, and the digest that recognises it again;
//! - [`Watch`]: an agent that goes in circles inside one attempt;
//! - [`Seen`]: whether what an agent's own command gave is an observation or a fault.
//!
//! Design: the engine, "Observation, failure, attempt".

mod action;
mod approach;
mod diff;
mod diff_file;
mod diff_header;
mod digest;
mod hasher;
mod line;
mod mask;
mod observation;
mod shell;
mod stuck;
mod text;

pub use action::{ACTION_CHARS_MAX, Action, Observation, Outcome, ToolKind};
pub use approach::{Approach, SUMMARY_CHARS_MAX};
pub use diff::{Change, DiffReader, FILE_CHARS_MAX, FILES_MAX, diff_digest};
pub use digest::approach_digest;
pub use hasher::Digest;
pub use observation::{Judgement, SEEN_SIGNATURES_MAX, Seen};
pub use stuck::{Evidence, Pattern, Step, StuckLimits, Verdict, WINDOW_STEPS, Watch};
