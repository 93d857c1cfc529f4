//! Attempts: what an agent tried, and whether the next try is really a different one.

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
pub use approach::{Approach, Digest, FILE_CHARS_MAX, FILES_MAX};
pub use diff::{Change, DiffReader, diff_digest};
pub use digest::approach_digest;
pub use observation::{Judgement, SEEN_SIGNATURES_MAX, Seen};
pub use stuck::{Evidence, Pattern, Step, StuckLimits, Verdict, WINDOW_STEPS, Watch};
