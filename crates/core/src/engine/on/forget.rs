//! Handles `Forget`: resets the tries of errors on the operator's request.

use crate::engine::event::Event;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::signature::Signature;

pub(super) fn on(turn: &mut Turn<'_>, signature: Option<Signature>) {
    turn.decide(Event::Forgotten { signature }, Why::rule(Rule::PersonAsked));
}
