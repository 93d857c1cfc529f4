//! Handles `Wake`: rings the timers that are due.

use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::state::EngineTimer;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};

/// Maximum number of timers handled in one decision; the runner wakes the engine again for the
/// rest.
const TIMERS_PER_WAKE_MAX: usize = 256;

pub(super) fn handle_wake(turn: &mut Transition<'_>) {
    for _ in 0..TIMERS_PER_WAKE_MAX {
        match turn.state.timers.first() {
            Some(&(at, timer)) if at <= turn.now => fire_timer(turn, timer),
            _ => break,
        }
    }
}

fn fire_timer(turn: &mut Transition<'_>, timer: EngineTimer) {
    let why = Why::from_rule(Rule::WaitOver);
    match timer {
        EngineTimer::Task(id) => {
            if let Some(task) = turn.state.task(id) {
                let run = task.state.run();
                let next = task.next;
                turn.emit_with_reason(Event::TaskReady { task: id, run, next }, why);
            }
        }
        EngineTimer::Gate(key) => flow::reopen_gate(turn, key, why),
        EngineTimer::Release(key) => flow::release_waiters(turn, key),
        EngineTimer::Build(build) => flow::resume_build(turn, build, Event::Waking { build }, why),
        EngineTimer::Mutation(id) => flow::probe_action(turn, id, None),
    }
}
