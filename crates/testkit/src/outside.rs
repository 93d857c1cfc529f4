//! What really happened outside: how often each irreversible action took effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_core::engine::{Mutation, Occurrence};
use unstuck_core::plan::MutationKind;
use unstuck_core::time::{Span, Time};

/// One action as the other side knows it.
pub type Name = (Occurrence, Arc<str>);

/// The other side's memory.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    applied: BTreeMap<Name, u32>,
    said_not: BTreeMap<Name, u32>,
    /// Calls whose effect appears only then.
    late: Vec<(Time, Name, bool)>,
}

impl Outside {
    /// The other side does it now.
    pub fn apply(&mut self, mutation: &Mutation) {
        self.take_effect(name(mutation), is_repeatable(mutation));
    }

    /// The other side does it later.
    pub fn apply_at(&mut self, mutation: &Mutation, at: Time) {
        self.late.push((at, name(mutation), is_repeatable(mutation)));
    }

    fn take_effect(&mut self, name: Name, idempotent: bool) {
        let count = self.applied.entry(name).or_default();
        // The other side recognises a repeated call by itself.
        *count = if idempotent { 1 } else { *count + 1 };
    }

    /// The clock is set back: what is on its way takes no longer for that.
    pub fn set_back(&mut self, by: Span) {
        for (at, _, _) in &mut self.late {
            *at = *at - by;
        }
    }

    /// What was on its way arrives.
    pub fn tick(&mut self, now: Time) {
        let (due, late) =
            std::mem::take(&mut self.late).into_iter().partition(|late| late.0 <= now);
        self.late = late;
        let due: Vec<(Time, Name, bool)> = due;
        for (_, name, idempotent) in due {
            self.take_effect(name, idempotent);
        }
    }

    /// Whether it can be seen that the action happened.
    pub fn happened(&self, mutation: &Mutation) -> bool {
        self.applied.get(&name(mutation)).is_some_and(|count| *count > 0)
    }

    /// A person said that it did not happen, rightly or wrongly.
    pub fn said_not(&mut self, mutation: &Mutation) {
        *self.said_not.entry(name(mutation)).or_default() += 1;
    }

    /// An action that happened more often than anybody could want, if there is one.
    pub fn applied_too_often(&self) -> Option<(&Name, u32)> {
        self.applied
            .iter()
            .map(|(name, count)| (name, *count))
            .find(|(name, count)| *count > 1 + self.said_not.get(*name).copied().unwrap_or(0))
    }

    /// How often each action took effect.
    pub const fn all(&self) -> &BTreeMap<Name, u32> {
        &self.applied
    }
}

/// Whether the other side takes a repeated call for the same one: it recognises it, or the call sends
/// the same commit to the same ref.
fn is_repeatable(mutation: &Mutation) -> bool {
    mutation.spec.idempotent || mutation.spec.kind == MutationKind::Push
}

fn name(mutation: &Mutation) -> Name {
    (mutation.occurrence, Arc::from(mutation.spec.key.as_str()))
}
