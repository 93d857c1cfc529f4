//! Checks of the parts of a state that only its serialized form shows: timers, and owed effects.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use unstuck_core::engine::{
    AccountGate, BuildId, BuildState, EffectId, GateKey, GateState, MutationId, MutationState,
    RunId, State, TaskId, TaskState,
};
use unstuck_core::time::Time;

use super::{Violation, require};

#[derive(Deserialize)]
struct HiddenState {
    owed: BTreeMap<EffectId, EffectOwner>,
    timers: BTreeSet<(Time, HiddenTimer)>,
    gates: BTreeMap<GateKey, AccountGate>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EffectOwner {
    Run(RunId),
    Mutation(MutationId),
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HiddenTimer {
    Task(TaskId),
    Gate(GateKey),
    Release(GateKey),
    Build(BuildId),
    Mutation(MutationId),
}

/// Checks that timers, owed effects and gates agree with the states they follow from.
pub(super) fn check_hidden_parts(state: &State) -> Result<(), Violation> {
    let written = serde_json::to_value(state)
        .map_err(|error| Violation::new("a state can be written down", error.to_string()))?;
    let hidden = HiddenState::deserialize(&written)
        .map_err(|error| Violation::new("a state can be read", error.to_string()))?;
    check_owed(state, &hidden)?;
    check_timers(state, &hidden)?;
    check_waiters(state, &hidden)
}

fn check_owed(state: &State, hidden: &HiddenState) -> Result<(), Violation> {
    let mut expected: BTreeMap<EffectId, EffectOwner> = BTreeMap::new();
    for run in state.runs() {
        if let Some(effect) = run.owes {
            expected.insert(effect, EffectOwner::Run(run.id));
        }
    }
    for mutation in state.mutations() {
        if let MutationState::InFlight { effect } | MutationState::Probing { effect } =
            mutation.state
        {
            expected.insert(effect, EffectOwner::Mutation(mutation.id));
        }
    }
    require(expected == hidden.owed, "owed is what runs and actions wait for", || {
        format!("{:?} instead of {expected:?}", hidden.owed)
    })
}

fn check_timers(state: &State, hidden: &HiddenState) -> Result<(), Violation> {
    let mut expected = BTreeSet::new();
    for task in state.tasks() {
        if let TaskState::BackingOff { until: Some(until), .. } = task.state {
            expected.insert((until, HiddenTimer::Task(task.id)));
        }
    }
    for build in state.builds() {
        if let BuildState::Sleeping { until } = build.state {
            expected.insert((until, HiddenTimer::Build(build.id)));
        }
    }
    for mutation in state.mutations() {
        if let MutationState::Settling { until } = mutation.state {
            expected.insert((until, HiddenTimer::Mutation(mutation.id)));
        }
    }
    for (&key, gate) in &hidden.gates {
        if let GateState::Waiting { until } = gate.state {
            expected.insert((until, HiddenTimer::Gate(key)));
        }
        if let Some(at) = gate.release_at {
            expected.insert((at, HiddenTimer::Release(key)));
        }
    }
    require(expected == hidden.timers, "timers are what states wait for", || {
        format!("{:?} instead of {expected:?}", hidden.timers)
    })
}

fn check_waiters(state: &State, hidden: &HiddenState) -> Result<(), Violation> {
    let mut expected: BTreeMap<GateKey, BTreeSet<TaskId>> = BTreeMap::new();
    for task in state.tasks() {
        if let TaskState::BackingOff { gate: Some(gate), .. } = task.state {
            expected.entry(gate).or_default().insert(task.id);
        }
    }
    for (key, gate) in &hidden.gates {
        let waiting = expected.remove(key).unwrap_or_default();
        require(waiting == gate.waiters, "a gate knows who waits", || {
            format!("{key}: {:?} instead of {waiting:?}", gate.waiters)
        })?;
        let moves = match gate.state {
            GateState::Passing => gate.release_at.is_some() || waiting.is_empty(),
            GateState::Waiting { .. } => true,
            GateState::Probing { task } => state.task(task).is_some_and(|task| {
                matches!(task.state, TaskState::Pending { .. } | TaskState::Running { .. })
            }),
        };
        require(moves, "a gate with waiters opens some day", || format!("{key}: {gate:?}"))?;
    }
    require(expected.is_empty(), "a gate knows who waits", || format!("{expected:?}"))
}
