//! Applies gate events to the state.

use crate::engine::build::Build;
use crate::engine::gate::{AccountGate, GateState};
use crate::engine::ids::{BuildId, TaskId};
use crate::engine::state::{EngineTimer, State};
use crate::fault::{Code, Reaction};
use crate::plan::GateKey;
use crate::time::Time;

impl State {
    pub(super) fn gate_waiting(
        &mut self,
        key: GateKey,
        (until, passed): (Time, bool),
        code: Code,
        at: Time,
    ) {
        let closed = self.gates.get(&key).is_some_and(AccountGate::is_closed);
        let gate = self.settle_gate(key, GateState::Waiting { until });
        gate.since.get_or_insert(at);
        gate.closed_by.get_or_insert(code);
        // Calls in progress when the gate closed report the same window once more.
        match code.row().reaction {
            _ if closed => {}
            Reaction::GateUntilReset if !passed => gate.windows += 1,
            _ => gate.limited += 1,
        }
        self.timers.insert((until, EngineTimer::Gate(key)));
        self.reschedule_conflicting_builds(key);
    }

    pub(super) fn gate_probing(&mut self, key: GateKey, task: TaskId) {
        self.settle_gate(key, GateState::Probing { task });
        self.reschedule_conflicting_builds(key);
    }

    /// Opens the gate. If no call has shown that the account works (`untried`), the counters stay,
    /// so that the next limit continues the backoff where it was.
    pub(super) fn gate_passing(
        &mut self,
        key: GateKey,
        release_at: Option<Time>,
        untried: bool,
        at: Time,
    ) {
        let gate = self.settle_gate(key, GateState::Passing);
        gate.record_opening(at);
        gate.since = None;
        if !untried {
            gate.limited = 0;
            gate.windows = 0;
            gate.errors = 0;
        }
        gate.group = 1;
        gate.release_at = release_at;
        if let Some(at) = release_at {
            self.timers.insert((at, EngineTimer::Release(key)));
        }
        self.reschedule_waiting_builds(key);
    }

    /// Reschedules the builds with queued tasks that need this gate, because they can start now.
    fn reschedule_waiting_builds(&mut self, key: GateKey) {
        self.reschedule_builds(|build| build.waits_at(key));
    }

    /// Reschedules the builds with tasks kept apart at this gate, because a task that can no longer
    /// start blocks no others.
    fn reschedule_conflicting_builds(&mut self, key: GateKey) {
        self.reschedule_builds(|build| build.apart.waits_at(key));
    }

    fn reschedule_builds(&mut self, which: impl Fn(&Build) -> bool) {
        let builds = self.builds.values().filter(|build| which(build));
        for build in builds.map(|build| build.id).collect::<Vec<BuildId>>() {
            self.reschedule_build(build);
        }
    }

    pub(super) fn gate_released(&mut self, key: GateKey, group: u32, next_at: Option<Time>) {
        let gate = self.settle_gate(key, GateState::Passing);
        gate.group = group;
        gate.release_at = next_at;
        if let Some(at) = next_at {
            self.timers.insert((at, EngineTimer::Release(key)));
        }
    }

    pub(super) fn gate_given_up(&mut self, key: GateKey, at: Time) {
        self.gate_passing(key, None, false, at);
    }

    /// Puts the gate into `state` and removes the timers of the old state.
    fn settle_gate(&mut self, key: GateKey, state: GateState) -> &mut AccountGate {
        let gate = self.gates.entry(key).or_default();
        if let GateState::Waiting { until } = gate.state {
            self.timers.remove(&(until, EngineTimer::Gate(key)));
        }
        if let Some(at) = gate.release_at.take() {
            self.timers.remove(&(at, EngineTimer::Release(key)));
        }
        gate.state = state;
        gate
    }
}
