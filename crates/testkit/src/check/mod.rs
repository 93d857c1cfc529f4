//! The engine's invariants (design: the engine, I1 to I15) and the agreement of its parts with each other.

mod hidden;
mod monitor;
mod shape;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;
use unstuck_core::engine::{
    Counters, EffectChange, EffectId, EffectKind, MutationId, MutationState, Question,
    RecordedEvent, State, Subject, Task, TaskState,
};

use crate::moves::is_elsewhere;

pub use monitor::{EventInvariant, JournalMonitor};
pub use shape::check_state;

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
    released: &[EffectChange],
) -> Result<(), Violation> {
    let after: BTreeSet<EffectId> =
        state.outstanding_effects().iter().map(|effect| effect.id).collect();
    let new: BTreeSet<EffectId> = after.difference(before).copied().collect();
    let begun: BTreeSet<EffectId> = released
        .iter()
        .filter_map(|change| match change {
            EffectChange::Start(effect) => Some(effect.id),
            EffectChange::Stop(_) => None,
        })
        .collect();
    if new != begun {
        let found = format!("released {begun:?}, newly owed {new:?}");
        return Err(Violation::new("effects are what is newly owed", found));
    }
    for change in released {
        if let EffectChange::Stop(effect) = change
            && after.contains(effect)
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

/// Checks that counters and waits after a restart equal those before it (I10), and that no action that may
/// have been sent is sent again before it was looked up (I4).
pub fn check_recovery(before: &State, after: &State) -> Result<(), Violation> {
    for task in before.tasks() {
        let Some(now) = after.task(task.id) else { continue };
        let was = without_crashes(task.counters);
        let is = without_crashes(now.counters);
        require(was == is, "I10", || format!("{}: {was:?} became {is:?}", task.id))?;
        require(task.charged == now.charged, "I10", || format!("{} charges", task.id))?;
        if let TaskState::BackingOff { until: Some(_), .. } | TaskState::Parked { .. } = task.state
        {
            require(task.state == now.state, "I10: waits stay", || {
                format!("{}: {:?} became {:?}", task.id, task.state, now.state)
            })?;
        }
    }
    require(before.signatures() == after.signatures(), "I10", || "signatures changed".to_owned())?;
    for effect in after.outstanding_effects() {
        let old = effect.id.0 <= before.seq();
        require(
            !old || matches!(effect.what, EffectKind::Probe { .. }) || is_elsewhere(after, &effect),
            "nothing survives a crash",
            || format!("{effect:?} is still owed"),
        )?;
    }
    for mutation in after.mutations() {
        let sent = |state: &MutationState| matches!(state, MutationState::InFlight { .. });
        let was_sent = before.mutation(mutation.id).is_some_and(|was| sent(&was.state));
        if after.task(mutation.task).is_some_and(Task::is_session) {
            // The external runtime that sent it still exists, and reports its outcome.
            let was = before.mutation(mutation.id).map(|was| &was.state);
            require(was == Some(&mutation.state), "I10", || format!("{} changed", mutation.id))?;
            continue;
        }
        require(!(was_sent && sent(&mutation.state)), "I4", || {
            format!("{} is sent again without being looked up", mutation.id)
        })?;
    }
    Ok(())
}

const fn without_crashes(counters: Counters) -> Counters {
    Counters { crashes: 0, ..counters }
}

/// Checks that the journal, serialized, read and replayed, gives the state; so does the state itself.
pub fn check_round_trip(state: &State, journal: &[RecordedEvent]) -> Result<(), Violation> {
    let mut replayed = State::new(state.project());
    for recorded in journal {
        let read = round_trip(recorded)?;
        require(read == *recorded, "an event reads as it was written", || {
            format!("{recorded:?}\n{read:?}")
        })?;
        apply_replayed(&mut replayed, &read)?;
    }
    require(replayed == *state, "replaying gives the same state", || {
        describe_difference(&replayed, state)
    })?;
    let read: State = round_trip(state)?;
    require(read == *state, "a state reads as it was written", || describe_difference(&read, state))
}

/// Applies an event that `decide` made to another copy of its state.
pub fn apply_replayed(state: &mut State, recorded: &RecordedEvent) -> Result<(), Violation> {
    state
        .apply(recorded)
        .map_err(|error| Violation::new("a journal can be replayed", error.to_string()))
}

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(
    thing: &T,
) -> Result<T, Violation> {
    let unwritable =
        |error: serde_json::Error| Violation::new("can be written down", error.to_string());
    let text = serde_json::to_string(thing).map_err(unwritable)?;
    serde_json::from_str(&text)
        .map_err(|error| Violation::new("can be read", format!("{error}: {text}")))
}

/// Returns a short description of where two states differ.
pub fn describe_difference(one: &State, other: &State) -> String {
    let (Ok(one), Ok(other)) = (serde_json::to_value(one), serde_json::to_value(other)) else {
        return "states that cannot be written down".to_owned();
    };
    let mut found = Vec::new();
    collect_differences("", &one, &other, &mut found);
    found.truncate(6);
    found.join("; ")
}

fn collect_differences(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for key in one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))) {
                let null = Value::Null;
                let a = one.get(key).unwrap_or(&null);
                let b = other.get(key).unwrap_or(&null);
                collect_differences(&format!("{path}/{key}"), a, b, found);
            }
        }
        _ if one != other => found.push(format!("{path}: {one} and {other}")),
        _ => {}
    }
}
