//! Reopens a shared gate after its wait.

use crate::engine::event::Event;
use crate::engine::gate::GateState;
use crate::engine::ids::TaskId;
use crate::engine::task::TaskState;
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::plan::GateKey;

/// Opens the gate of the task's account after a successful call, if the gate was troubled or being
/// probed.
pub(in crate::engine) fn record_successful_call(turn: &mut Transition<'_>, task: TaskId) {
    let Some(key) = turn.known_task(task).map(|task| task.spec.gate) else { return };
    let Some(gate) = turn.state.gate(key) else { return };
    let passes = match gate.state {
        GateState::Passing => gate.is_troubled(),
        // Another call was limited after this one was sent; its success says nothing new.
        GateState::Waiting { .. } => false,
        GateState::Probing { .. } => true,
    };
    if passes {
        pass_gate(turn, key, false);
    }
}

/// Ends the gate's wait: one waiting task probes the account first. Without such a task the gate
/// opens at once.
pub(in crate::engine) fn reopen_gate(turn: &mut Transition<'_>, key: GateKey, why: Why) {
    let Some(gate) = turn.known_gate(key) else { return };
    let probe = gate.waiters.iter().copied().find(|task| may_task_work(turn, *task));
    match probe {
        Some(task) => {
            turn.emit_with_reason(Event::GateProbing { gate: key, task }, why);
            make_ready(turn, task);
        }
        None => pass_gate(turn, key, false),
    }
}

fn pass_gate(turn: &mut Transition<'_>, key: GateKey, untried: bool) {
    let waiting = turn.state.gate(key).is_some_and(|gate| !gate.waiters.is_empty());
    let release_at = waiting.then(|| turn.now + turn.policy.wait.release_every_ms);
    let passing = Event::GatePassing { gate: key, release_at, untried };
    turn.emit_with_reason(passing, Why::from_rule(Rule::OneProbesFirst));
}

/// Releases the next group of waiting tasks; the group after it is twice as large.
pub(in crate::engine) fn release_waiters(turn: &mut Transition<'_>, key: GateKey) {
    let Some(gate) = turn.known_gate(key) else { return };
    let group = gate.group.max(1);
    let released: Vec<TaskId> = gate.waiters.iter().copied().take(group as usize).collect();
    let more = gate.waiters.len() > released.len();
    let next_at = more.then(|| turn.now + turn.policy.wait.release_every_ms);
    turn.emit_event(Event::GateReleased { gate: key, group: group.saturating_mul(2), next_at });
    for task in released {
        make_ready(turn, task);
    }
}

/// Hands the probe over to another task where the probing task has left for another reason.
pub(super) fn hand_over_probes(turn: &mut Transition<'_>) {
    let probes = turn.state.gates.iter().filter_map(|(key, gate)| match gate.state {
        GateState::Probing { task } => Some((*key, task)),
        GateState::Passing | GateState::Waiting { .. } => None,
    });
    let lost: Vec<(GateKey, TaskId)> =
        probes.filter(|(_, task)| !is_still_probing(turn, *task)).collect();
    for (key, task) in lost {
        if probe_will_return(turn, key, task) {
            pass_gate(turn, key, true);
        } else {
            reopen_gate(turn, key, Why::from_rule(Rule::OneProbesFirst));
        }
    }
}

/// Returns whether the probing `task` only waits for something else, and no task waits here that
/// could probe in its place.
fn probe_will_return(turn: &Transition<'_>, key: GateKey, task: TaskId) -> bool {
    let Some(gate) = turn.known_gate(key) else { return false };
    let backs_off = turn.state.task(task).is_some_and(|task| {
        matches!(task.state, TaskState::BackingOff { .. }) && task.next.step.needs_gate()
    });
    backs_off && !gate.waiters.iter().any(|task| may_task_work(turn, *task))
}

fn is_still_probing(turn: &Transition<'_>, id: TaskId) -> bool {
    let Some(task) = turn.state.task(id) else { return false };
    may_task_work(turn, id)
        && match task.state {
            TaskState::Pending { .. } => task.next.step.needs_gate(),
            TaskState::Running { run } => {
                turn.state.run(run).is_some_and(|run| run.step.needs_gate())
            }
            _ => false,
        }
}

fn may_task_work(turn: &Transition<'_>, id: TaskId) -> bool {
    turn.state
        .task(id)
        .and_then(|task| turn.state.build(task.build))
        .is_some_and(|build| build.state.allows_work())
}

/// Ends a task's wait.
pub(in crate::engine) fn make_ready(turn: &mut Transition<'_>, id: TaskId) {
    let Some(task) = turn.known_task(id) else { return };
    let run = task.state.run();
    let next = task.next;
    turn.emit_with_reason(Event::TaskReady { task: id, run, next }, Why::from_rule(Rule::WaitOver));
}
