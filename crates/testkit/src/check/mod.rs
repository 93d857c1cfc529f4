//! The engine's invariants (design: the engine, I1 to I15) and the agreement of its parts with each other.

mod apart;
mod hidden;
mod monitor;
mod recovery;
mod shape;
mod written;

use std::collections::BTreeSet;
use std::fmt;

pub use monitor::{EventInvariant, JournalMonitor};
pub use recovery::check_recovery;
pub use shape::check_state;
use unstuck_core::engine::{Effect, EffectId, EffectKind, MutationId, Question, State, Subject};
pub use written::{check_round_trip, describe_difference};

/// A violated invariant.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The invariant.
    pub rule: &'static str,
    /// The observed values.
    pub found: String,
}

impl Violation {
    /// Creates the violation of `rule`.
    pub fn new(rule: &'static str, found: impl Into<String>) -> Self {
        Self { rule, found: found.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.found)
    }
}

impl std::error::Error for Violation {}

/// Checks everything visible of a state, hidden parts included. Slow.
pub fn check_thoroughly(state: &State) -> Result<(), Violation> {
    hidden::check_hidden_parts(state)
}

/// Checks that a decision released exactly the newly owed effects.
pub fn check_released(
    state: &State,
    before: &BTreeSet<EffectId>,
    released: &[Effect],
) -> Result<(), Violation> {
    let after: BTreeSet<EffectId> =
        state.outstanding_effects().iter().map(|effect| effect.id).collect();
    let new: BTreeSet<EffectId> = after.difference(before).copied().collect();
    let begun: BTreeSet<EffectId> = released
        .iter()
        .filter(|effect| !matches!(effect.what, EffectKind::Stop { .. }))
        .map(|effect| effect.id)
        .collect();
    if new != begun {
        let found = format!("released {begun:?}, newly owed {new:?}");
        return Err(Violation::new("effects are what is newly owed", found));
    }
    for effect in released {
        if let EffectKind::Stop { effect } = effect.what
            && after.contains(&effect)
        {
            let found = format!("{effect} is stopped and owed");
            return Err(Violation::new("what is stopped is not owed", found));
        }
    }
    Ok(())
}

/// Returns the action a question is about.
pub const fn question_action(question: &Question) -> Option<MutationId> {
    match question.subject {
        Subject::Action(mutation) => Some(mutation),
        Subject::Error(_) | Subject::Build(_) | Subject::Job(_) => None,
    }
}

/// Fails with `rule` unless `holds`.
fn require(
    holds: bool,
    rule: &'static str,
    found: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::new(rule, found())) }
}
