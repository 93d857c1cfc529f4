//! Reopens a shared gate after its wait.

use crate::engine::event::Event;
use crate::engine::gate::GateState;
use crate::engine::ids::TaskId;
use crate::engine::task::TaskState;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::plan::GateKey;

/// Opens the gate of the task's account after a successful call, if the gate was troubled or being
/// probed.
pub(in crate::engine) fn call_succeeded(turn: &mut Turn<'_>, task: TaskId) {
    let Some(key) = turn.state.task(task).map(|task| task.spec.gate) else { return };
    let Some(gate) = turn.state.gate(key) else { return };
    let passes = match gate.state {
        GateState::Passing => gate.is_troubled(),
        // Another call was limited after this one was sent; its success says nothing new.
        GateState::Waiting { .. } => false,
        GateState::Probing { .. } => true,
    };
    if passes {
        pass(turn, key, false);
    }
}

/// Ends the gate's wait: one waiting task probes the account first. Without such a task the gate
/// opens at once.
pub(in crate::engine) fn reopen(turn: &mut Turn<'_>, key: GateKey, why: Why) {
    let Some(gate) = turn.state.gate(key) else { return };
    let probe = gate.waiters.iter().copied().find(|task| may_work(turn, *task));
    match probe {
        Some(task) => {
            turn.decide(Event::GateProbing { gate: key, task }, why);
            make_ready(turn, task);
        }
        None => pass(turn, key, false),
    }
}

fn pass(turn: &mut Turn<'_>, key: GateKey, untried: bool) {
    let waiting = turn.state.gate(key).is_some_and(|gate| !gate.waiters.is_empty());
    let release_at = waiting.then(|| turn.now + turn.policy.wait.release_every_ms);
    let passing = Event::GatePassing { gate: key, release_at, untried };
    turn.decide(passing, Why::rule(Rule::OneProbesFirst));
}

/// Releases the next group of waiting tasks; the group after it is twice as large.
pub(in crate::engine) fn release(turn: &mut Turn<'_>, key: GateKey) {
    let Some(gate) = turn.state.gate(key) else { return };
    let group = gate.group.max(1);
    let released: Vec<TaskId> = gate.waiters.iter().copied().take(group as usize).collect();
    let more = gate.waiters.len() > released.len();
    let next_at = more.then(|| turn.now + turn.policy.wait.release_every_ms);
    turn.emit(Event::GateReleased { gate: key, group: group.saturating_mul(2), next_at });
    for task in released {
        make_ready(turn, task);
    }
}

/// Hands the probe over to another task where the probing task has left for another reason.
pub(super) fn hand_over_probes(turn: &mut Turn<'_>) {
    let lost: Vec<GateKey> = turn
        .state
        .gates
        .iter()
        .filter(|(_, gate)| match gate.state {
            GateState::Probing { task } => !still_probes(turn, task),
            GateState::Passing | GateState::Waiting { .. } => false,
        })
        .map(|(key, _)| *key)
        .collect();
    for key in lost {
        if comes_back(turn, key) {
            pass(turn, key, true);
        } else {
            reopen(turn, key, Why::rule(Rule::OneProbesFirst));
        }
    }
}

/// Returns whether the probing task only waits for something else, and no task waits here that
/// could probe in its place.
fn comes_back(turn: &Turn<'_>, key: GateKey) -> bool {
    let Some(gate) = turn.state.gate(key) else { return false };
    let GateState::Probing { task } = gate.state else { return false };
    let backs_off = turn.state.task(task).is_some_and(|task| {
        matches!(task.state, TaskState::BackingOff { .. }) && task.next.step.needs_gate()
    });
    backs_off && !gate.waiters.iter().any(|task| may_work(turn, *task))
}

fn still_probes(turn: &Turn<'_>, id: TaskId) -> bool {
    let Some(task) = turn.state.task(id) else { return false };
    may_work(turn, id)
        && match task.state {
            TaskState::Pending { .. } => task.next.step.needs_gate(),
            TaskState::Running { run } => {
                turn.state.run(run).is_some_and(|run| run.step.needs_gate())
            }
            _ => false,
        }
}

fn may_work(turn: &Turn<'_>, id: TaskId) -> bool {
    turn.state
        .task(id)
        .and_then(|task| turn.state.build(task.build))
        .is_some_and(|build| build.state.lets_work())
}

/// Ends a task's wait.
pub(super) fn make_ready(turn: &mut Turn<'_>, id: TaskId) {
    let Some(task) = turn.state.task(id) else { return };
    let run = task.state.run();
    let next = task.next;
    turn.decide(Event::TaskReady { task: id, run, next }, Why::rule(Rule::WaitOver));
}
