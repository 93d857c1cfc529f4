//! A person has the tries of errors forgotten.

use crate::engine::event::Event;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::signature::Signature;

pub(super) fn on(turn: &mut Turn<'_>, signature: Option<Signature>) {
    turn.decide(Event::Forgotten { signature }, Why::rule(Rule::PersonAsked));
}
