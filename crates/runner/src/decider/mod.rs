//! Where workers submit their commands, and what they can ask about the project.

#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod decider;
mod state_query;

pub use decider::{DecideError, Decider, DeciderSuccession, collect_kick_commands};
pub use state_query::{
    HoldReason, Intent, KnownJob, PermanentAction, StateQuery, StateQueryResult,
};
