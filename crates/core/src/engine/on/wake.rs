//! Handles `Wake`: rings the timers that are due.

use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::state::Timer;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};

/// Maximum number of timers handled in one decision; the runner wakes the engine again for the
/// rest.
const TIMERS_PER_WAKE_MAX: usize = 256;

pub(super) fn on(turn: &mut Turn<'_>) {
    for _ in 0..TIMERS_PER_WAKE_MAX {
        match turn.state.timers.first() {
            Some(&(at, timer)) if at <= turn.now => ring(turn, timer),
            _ => break,
        }
    }
}

fn ring(turn: &mut Turn<'_>, timer: Timer) {
    let why = Why::rule(Rule::WaitOver);
    match timer {
        Timer::Task(id) => {
            if let Some(task) = turn.state.task(id) {
                let run = task.state.run();
                let next = task.next;
                turn.decide(Event::TaskReady { task: id, run, next }, why);
            }
        }
        Timer::Gate(key) => flow::reopen(turn, key, why),
        Timer::Release(key) => flow::release(turn, key),
        Timer::Build(build) => flow::resume(turn, build, Event::Waking { build }, why),
        Timer::Mutation(id) => flow::probe(turn, id, None),
    }
}
