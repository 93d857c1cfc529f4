//! Handles `Forget`: resets the tries of errors on the operator's request.

use crate::engine::event::Event;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::signature::Signature;

pub(super) fn handle_forget(turn: &mut Transition<'_>, signature: Option<Signature>) {
    turn.emit_with_reason(Event::Forgotten { signature }, Why::from_rule(Rule::PersonAsked));
}
