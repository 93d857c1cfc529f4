//! Keeps tasks of a build apart: two tasks that reach into the same part of the project do not run
//! concurrently, and a task marked `serialize` runs alone.
//!
//! Only running tasks block others; a waiting task does not, whatever it waits for. Where a slot is
//! free, a task does not overtake a more urgent one that it would then block: otherwise small tasks
//! could hold up a large one for as long as there are any.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ids::TaskId;
use crate::plan::{GateKey, ScopeReach, TaskSpec};

/// Maximum number of distinct scopes that one decision examines for a task that can start. Slots
/// are few and the next decision looks again, so a slot that stays empty a little longer costs less
/// than comparing thousands of scopes each time.
const LOOK_AHEAD_MAX: usize = 64;

/// A task's position in the queue of tasks that can start: the most urgent first, then the oldest.
pub(super) type QueuePosition = (Reverse<i32>, TaskId);

/// The tasks that a task may run concurrently with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exclusivity {
    /// All other tasks.
    #[default]
    Everyone,
    /// Tasks that reach into no part of the project that it reaches into: the index of its reach in
    /// its build's list.
    Others(u32),
    /// No other task.
    #[serde(rename = "nobody")]
    Nothing,
}

impl Exclusivity {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
    pub(super) const fn is_everyone(&self) -> bool {
        matches!(self, Self::Everyone)
    }
}

/// The tasks that a gate lets start.
#[derive(Clone, Copy)]
pub(super) enum Admission {
    Everyone,
    Only(QueuePosition, Exclusivity),
    Nothing,
}

impl Admission {
    /// Returns the most urgent of `places` that may start.
    pub(super) fn first_admitted(self, places: &BTreeSet<QueuePosition>) -> Option<QueuePosition> {
        match self {
            Self::Everyone => places.first().copied(),
            Self::Only(place, _) => places.contains(&place).then_some(place),
            Self::Nothing => None,
        }
    }
}

/// The tasks of a build that do not run beside all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ConflictSet {
    /// The parts of the project that the tasks reach into. Tasks with the same reach share its
    /// index.
    reaches: Vec<ScopeReach>,
    /// The tasks that can start, by the gate that their next step needs.
    #[serde(with = "super::ids::pairs")]
    lines: BTreeMap<Option<GateKey>, ConflictQueue>,
    /// The tasks that run.
    running: BTreeMap<TaskId, Exclusivity>,
}

/// Tasks that can start as soon as no running task blocks them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ConflictQueue {
    /// Tasks that run alone.
    alone: BTreeSet<QueuePosition>,
    /// Tasks that run beside others, by the index of their reach.
    by_reach: BTreeMap<u32, BTreeSet<QueuePosition>>,
    /// The first task of each reach, most urgent first.
    firsts: BTreeSet<(QueuePosition, u32)>,
}

impl ConflictSet {
    pub(super) const fn new() -> Self {
        Self { reaches: Vec::new(), lines: BTreeMap::new(), running: BTreeMap::new() }
    }

    /// Returns whether there is nothing to record: no reach is known, and no task kept apart is
    /// queued or running.
    pub(super) fn is_empty(&self) -> bool {
        self.reaches.is_empty() && self.is_idle()
    }

    /// Returns whether no task kept apart is queued or running.
    pub(super) fn is_idle(&self) -> bool {
        self.lines.is_empty() && self.running.is_empty()
    }

    /// Registers the reaches of a plan's tasks and returns for each task what it may run beside.
    pub(super) fn register_reaches<'a>(
        &mut self,
        specs: impl Iterator<Item = &'a TaskSpec>,
    ) -> Vec<Exclusivity> {
        let mut known: BTreeMap<ScopeReach, u32> = BTreeMap::new();
        specs
            .map(|spec| match ScopeReach::from_scope(&spec.scope) {
                _ if spec.serialize => Exclusivity::Nothing,
                None => Exclusivity::Everyone,
                Some(reach) => {
                    Exclusivity::Others(*known.entry(reach).or_insert_with_key(|reach| {
                        self.reaches.push(reach.clone());
                        u32::try_from(self.reaches.len() - 1).unwrap_or(u32::MAX)
                    }))
                }
            })
            .collect()
    }

    /// Returns the tasks that can start as soon as no running task blocks them.
    pub(super) fn ready_tasks(&self) -> impl Iterator<Item = &QueuePosition> {
        let lines = self.lines.values();
        lines.flat_map(|line| line.alone.iter().chain(line.by_reach.values().flatten()))
    }

    /// Returns whether a queued task needs this gate.
    pub(super) fn waits_at(&self, gate: GateKey) -> bool {
        self.lines.contains_key(&Some(gate))
    }

    pub(super) fn enqueue(
        &mut self,
        gate: Option<GateKey>,
        place: QueuePosition,
        beside: Exclusivity,
    ) {
        let line = self.lines.entry(gate).or_default();
        match beside {
            Exclusivity::Nothing => {
                line.alone.insert(place);
            }
            Exclusivity::Others(reach) => line.update_reach(reach, |places| places.insert(place)),
            Exclusivity::Everyone => {}
        }
    }

    pub(super) fn dequeue(
        &mut self,
        gate: Option<GateKey>,
        place: QueuePosition,
        beside: Exclusivity,
    ) {
        let Some(line) = self.lines.get_mut(&gate) else { return };
        match beside {
            Exclusivity::Nothing => {
                line.alone.remove(&place);
            }
            Exclusivity::Others(reach) => line.update_reach(reach, |places| places.remove(&place)),
            Exclusivity::Everyone => {}
        }
        if line.alone.is_empty() && line.by_reach.is_empty() {
            self.lines.remove(&gate);
        }
    }

    /// Records that the task runs, or that it no longer does.
    pub(super) fn set_running(&mut self, task: TaskId, beside: Exclusivity, runs: bool) {
        if runs {
            self.running.insert(task, beside);
        } else {
            self.running.remove(&task);
        }
    }

    /// Returns the most urgent task that no other task blocks. `free` is the most urgent of the
    /// tasks that run beside all others, and `anyone` says whether any task of the build runs.
    pub(super) fn first_startable(
        &self,
        free: Option<QueuePosition>,
        anyone: bool,
        lets: impl Fn(Option<GateKey>) -> Admission,
    ) -> Option<QueuePosition> {
        if self.running.values().any(|beside| *beside == Exclusivity::Nothing) {
            return None;
        }
        let alone = self
            .lines
            .iter()
            .filter_map(|(key, line)| lets(*key).first_admitted(&line.alone))
            .min();
        let before = |place: &QueuePosition| alone.is_none_or(|alone| *place < alone);
        let apart = self.first_apart(before, lets);
        let first = free.into_iter().chain(apart).min().filter(before);
        first.or(alone.filter(|_| !anyone))
    }

    fn first_apart(
        &self,
        before: impl Fn(&QueuePosition) -> bool,
        lets: impl Fn(Option<GateKey>) -> Admission,
    ) -> Option<QueuePosition> {
        let mut firsts: Vec<(QueuePosition, u32)> = Vec::new();
        for (key, line) in &self.lines {
            line.add_firsts(lets(*key), &mut firsts);
        }
        firsts.sort_unstable();
        let mut in_the_way: Vec<&ScopeReach> =
            self.running.values().filter_map(|beside| self.find_reach(*beside)).collect();
        for (place, reach) in firsts.into_iter().take(LOOK_AHEAD_MAX) {
            if !before(&place) {
                return None;
            }
            let reach = self.find_reach(Exclusivity::Others(reach))?;
            if !in_the_way.iter().any(|other| other.overlaps(reach)) {
                return Some(place);
            }
            in_the_way.push(reach);
        }
        None
    }

    fn find_reach(&self, beside: Exclusivity) -> Option<&ScopeReach> {
        match beside {
            Exclusivity::Others(reach) => self.reaches.get(reach as usize),
            Exclusivity::Everyone | Exclusivity::Nothing => None,
        }
    }
}

impl ConflictQueue {
    fn update_reach(
        &mut self,
        reach: u32,
        change: impl FnOnce(&mut BTreeSet<QueuePosition>) -> bool,
    ) {
        let places = self.by_reach.entry(reach).or_default();
        let old = places.first().copied();
        change(places);
        let new = places.first().copied();
        if new.is_none() {
            self.by_reach.remove(&reach);
        }
        if old != new {
            self.firsts.extend(new.map(|new| (new, reach)));
            if let Some(old) = old {
                self.firsts.remove(&(old, reach));
            }
        }
    }

    fn add_firsts(&self, lets: Admission, firsts: &mut Vec<(QueuePosition, u32)>) {
        match lets {
            Admission::Everyone => firsts.extend(self.firsts.iter().take(LOOK_AHEAD_MAX)),
            Admission::Only(place, Exclusivity::Others(reach)) => {
                let waits = self.by_reach.get(&reach).is_some_and(|all| all.contains(&place));
                firsts.extend(waits.then_some((place, reach)));
            }
            Admission::Only(..) | Admission::Nothing => {}
        }
    }
}
