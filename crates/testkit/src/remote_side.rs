//! The ground truth of the simulation: how often each irreversible action took effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_core::engine::{Mutation, Occurrence};
use unstuck_core::plan::MutationKind;
use unstuck_core::time::{Span, Time};

/// The identity of an action at the remote side.
pub type RemoteActionName = (Occurrence, Arc<str>);

/// The record of the remote side.
#[derive(Clone, Debug, Default)]
pub struct RemoteSide {
    applied: BTreeMap<RemoteActionName, u32>,
    said_not: BTreeMap<RemoteActionName, u32>,
    /// Calls whose effect appears only at a later time.
    late: Vec<(Time, RemoteActionName, bool)>,
}

impl RemoteSide {
    /// Applies the action now.
    pub fn apply_action(&mut self, mutation: &Mutation) {
        self.take_effect(action_name(mutation), is_repeatable(mutation));
    }

    /// Applies the action at a later time.
    pub fn apply_action_at(&mut self, mutation: &Mutation, at: Time) {
        self.late.push((at, action_name(mutation), is_repeatable(mutation)));
    }

    fn take_effect(&mut self, name: RemoteActionName, idempotent: bool) {
        let count = self.applied.entry(name).or_default();
        // The remote side recognizes a repeated call itself.
        *count = if idempotent { 1 } else { *count + 1 };
    }

    /// Adjusts pending effects when the clock is set back, so that they take no longer for that.
    pub fn shift_late_effects(&mut self, by: Span) {
        for (at, _, _) in &mut self.late {
            *at = *at - by;
        }
    }

    /// Applies the pending effects that are due.
    pub fn apply_due_effects(&mut self, now: Time) {
        let (due, late) =
            std::mem::take(&mut self.late).into_iter().partition(|late| late.0 <= now);
        self.late = late;
        let due: Vec<(Time, RemoteActionName, bool)> = due;
        for (_, name, idempotent) in due {
            self.take_effect(name, idempotent);
        }
    }

    /// Returns whether the action has visibly happened.
    pub fn has_happened(&self, mutation: &Mutation) -> bool {
        self.applied.get(&action_name(mutation)).is_some_and(|count| *count > 0)
    }

    /// Records that a person said that it did not happen, rightly or wrongly.
    pub fn record_denial(&mut self, mutation: &Mutation) {
        *self.said_not.entry(action_name(mutation)).or_default() += 1;
    }

    /// Returns an action that happened more often than allowed, if there is one.
    pub fn applied_too_often(&self) -> Option<(&RemoteActionName, u32)> {
        self.applied
            .iter()
            .map(|(name, count)| (name, *count))
            .find(|(name, count)| *count > 1 + self.said_not.get(*name).copied().unwrap_or(0))
    }

    /// Returns how often each action took effect.
    pub const fn applied_counts(&self) -> &BTreeMap<RemoteActionName, u32> {
        &self.applied
    }
}

/// Returns whether the remote side treats a repeated call as the same one: it recognizes it, or the call
/// sends the same commit to the same ref.
fn is_repeatable(mutation: &Mutation) -> bool {
    mutation.spec.idempotent || mutation.spec.kind == MutationKind::Push
}

fn action_name(mutation: &Mutation) -> RemoteActionName {
    (mutation.occurrence, Arc::from(mutation.spec.key.as_str()))
}
