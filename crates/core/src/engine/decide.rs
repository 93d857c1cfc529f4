//! The entry point of the engine: turns one command into the events that it leads to.

use super::command::{Command, CommandRejection};
use super::event::RecordedEvent;
use super::state::State;
use super::turn::Transition;
use super::{flow, on};
use crate::chance::Rng;
use crate::policy::Policy;
use crate::time::Time;

/// Decides what a command leads to and applies the resulting events to `state`.
///
/// Each event is applied as it is decided, so that later decisions see it; the returned events are
/// the only changes. A rejected command changes nothing.
pub fn decide(
    state: &mut State,
    command: Command,
    policy: &Policy,
    now: Time,
    rng: &mut Rng,
) -> Result<Vec<RecordedEvent>, CommandRejection> {
    let mut turn = Transition::new(state, policy, now, rng);
    let result = on::handle_command(&mut turn, command);
    debug_assert!(
        result.is_ok() || turn.events().is_empty(),
        "a rejected command changed something"
    );
    result?;
    flow::schedule_builds(&mut turn);
    Ok(turn.into_events())
}
