//! The ground truth of the simulation: how often each irreversible action took effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_core::engine::{Mutation, Occurrence};
use unstuck_core::plan::MutationKind;
use unstuck_core::time::{Span, Time};

/// The identity of an action at the remote side.
pub type Name = (Occurrence, Arc<str>);

/// The record of the remote side.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    applied: BTreeMap<Name, u32>,
    said_not: BTreeMap<Name, u32>,
    /// Calls whose effect appears only at a later time.
    late: Vec<(Time, Name, bool)>,
}

impl Outside {
    /// Applies the action now.
    pub fn apply(&mut self, mutation: &Mutation) {
        self.take_effect(name(mutation), is_repeatable(mutation));
    }

    /// Applies the action at a later time.
    pub fn apply_at(&mut self, mutation: &Mutation, at: Time) {
        self.late.push((at, name(mutation), is_repeatable(mutation)));
    }

    fn take_effect(&mut self, name: Name, idempotent: bool) {
        let count = self.applied.entry(name).or_default();
        // The remote side recognizes a repeated call itself.
        *count = if idempotent { 1 } else { *count + 1 };
    }

    /// Adjusts pending effects when the clock is set back, so that they take no longer for that.
    pub fn set_back(&mut self, by: Span) {
        for (at, _, _) in &mut self.late {
            *at = *at - by;
        }
    }

    /// Applies the pending effects that are due.
    pub fn tick(&mut self, now: Time) {
        let (due, late) =
            std::mem::take(&mut self.late).into_iter().partition(|late| late.0 <= now);
        self.late = late;
        let due: Vec<(Time, Name, bool)> = due;
        for (_, name, idempotent) in due {
            self.take_effect(name, idempotent);
        }
    }

    /// Returns whether the action has visibly happened.
    pub fn happened(&self, mutation: &Mutation) -> bool {
        self.applied.get(&name(mutation)).is_some_and(|count| *count > 0)
    }

    /// Records that a person said that it did not happen, rightly or wrongly.
    pub fn said_not(&mut self, mutation: &Mutation) {
        *self.said_not.entry(name(mutation)).or_default() += 1;
    }

    /// Returns an action that happened more often than allowed, if there is one.
    pub fn applied_too_often(&self) -> Option<(&Name, u32)> {
        self.applied
            .iter()
            .map(|(name, count)| (name, *count))
            .find(|(name, count)| *count > 1 + self.said_not.get(*name).copied().unwrap_or(0))
    }

    /// Returns how often each action took effect.
    pub const fn all(&self) -> &BTreeMap<Name, u32> {
        &self.applied
    }
}

/// Returns whether the remote side treats a repeated call as the same one: it recognizes it, or the call
/// sends the same commit to the same ref.
fn is_repeatable(mutation: &Mutation) -> bool {
    mutation.spec.idempotent || mutation.spec.kind == MutationKind::Push
}

fn name(mutation: &Mutation) -> Name {
    (mutation.occurrence, Arc::from(mutation.spec.key.as_str()))
}
