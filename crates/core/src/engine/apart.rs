//! Keeps tasks of a build apart: two tasks that reach into the same part of the project do not run
//! concurrently, and a task marked `serialize` runs alone.
//!
//! Only running tasks block others; a waiting task does not, whatever it waits for. Where a slot is
//! free, a task does not overtake a more urgent one that it would then block: otherwise small tasks
//! could hold up a large one for as long as there are any.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::build::Place;
use super::ids::TaskId;
use crate::plan::{GateKey, Reach, TaskSpec};

/// Maximum number of distinct scopes that one decision examines for a task that can start. Slots
/// are few and the next decision looks again, so a slot that stays empty a little longer costs less
/// than comparing thousands of scopes each time.
const LOOK_AHEAD_MAX: usize = 64;

/// The tasks that a task may run concurrently with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
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

impl Beside {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
    pub(super) const fn is_everyone(&self) -> bool {
        matches!(self, Self::Everyone)
    }
}

/// The tasks that a gate lets start.
#[derive(Clone, Copy)]
pub(super) enum Lets {
    Everyone,
    Only(Place, Beside),
    Nothing,
}

impl Lets {
    /// Returns the most urgent of `places` that may start.
    pub(super) fn first(self, places: &BTreeSet<Place>) -> Option<Place> {
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
pub(super) struct Apart {
    /// The parts of the project that the tasks reach into. Tasks with the same reach share its
    /// index.
    reaches: Vec<Reach>,
    /// The tasks that can start, by the gate that their next step needs.
    #[serde(with = "super::pairs")]
    lines: BTreeMap<Option<GateKey>, Line>,
    /// The tasks that run.
    running: BTreeMap<TaskId, Beside>,
}

/// Tasks that can start as soon as no running task blocks them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    /// Tasks that run alone.
    alone: BTreeSet<Place>,
    /// Tasks that run beside others, by the index of their reach.
    by_reach: BTreeMap<u32, BTreeSet<Place>>,
    /// The first task of each reach, most urgent first.
    firsts: BTreeSet<(Place, u32)>,
}

impl Apart {
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
    pub(super) fn take_in<'a>(&mut self, specs: impl Iterator<Item = &'a TaskSpec>) -> Vec<Beside> {
        let mut known: BTreeMap<Reach, u32> = BTreeMap::new();
        specs
            .map(|spec| match Reach::of(&spec.scope) {
                _ if spec.serialize => Beside::Nothing,
                None => Beside::Everyone,
                Some(reach) => Beside::Others(*known.entry(reach).or_insert_with_key(|reach| {
                    self.reaches.push(reach.clone());
                    u32::try_from(self.reaches.len() - 1).unwrap_or(u32::MAX)
                })),
            })
            .collect()
    }

    /// Returns the tasks that can start as soon as no running task blocks them.
    pub(super) fn ready(&self) -> impl Iterator<Item = &Place> {
        let lines = self.lines.values();
        lines.flat_map(|line| line.alone.iter().chain(line.by_reach.values().flatten()))
    }

    /// Returns whether a queued task needs this gate.
    pub(super) fn waits_at(&self, gate: GateKey) -> bool {
        self.lines.contains_key(&Some(gate))
    }

    pub(super) fn queue(&mut self, gate: Option<GateKey>, place: Place, beside: Beside) {
        let line = self.lines.entry(gate).or_default();
        match beside {
            Beside::Nothing => {
                line.alone.insert(place);
            }
            Beside::Others(reach) => line.change(reach, |places| places.insert(place)),
            Beside::Everyone => {}
        }
    }

    pub(super) fn unqueue(&mut self, gate: Option<GateKey>, place: Place, beside: Beside) {
        let Some(line) = self.lines.get_mut(&gate) else { return };
        match beside {
            Beside::Nothing => {
                line.alone.remove(&place);
            }
            Beside::Others(reach) => line.change(reach, |places| places.remove(&place)),
            Beside::Everyone => {}
        }
        if line.alone.is_empty() && line.by_reach.is_empty() {
            self.lines.remove(&gate);
        }
    }

    /// Records that the task runs, or that it no longer does.
    pub(super) fn runs(&mut self, task: TaskId, beside: Beside, runs: bool) {
        if runs {
            self.running.insert(task, beside);
        } else {
            self.running.remove(&task);
        }
    }

    /// Returns the most urgent task that no other task blocks. `free` is the most urgent of the
    /// tasks that run beside all others, and `anyone` says whether any task of the build runs.
    pub(super) fn first(
        &self,
        free: Option<Place>,
        anyone: bool,
        lets: impl Fn(Option<GateKey>) -> Lets,
    ) -> Option<Place> {
        if self.running.values().any(|beside| *beside == Beside::Nothing) {
            return None;
        }
        let alone = self.lines.iter().filter_map(|(key, line)| lets(*key).first(&line.alone)).min();
        let before = |place: &Place| alone.is_none_or(|alone| *place < alone);
        let apart = self.first_apart(before, lets);
        let first = free.into_iter().chain(apart).min().filter(before);
        first.or(alone.filter(|_| !anyone))
    }

    fn first_apart(
        &self,
        before: impl Fn(&Place) -> bool,
        lets: impl Fn(Option<GateKey>) -> Lets,
    ) -> Option<Place> {
        let mut firsts: Vec<(Place, u32)> = Vec::new();
        for (key, line) in &self.lines {
            line.add_firsts(lets(*key), &mut firsts);
        }
        firsts.sort_unstable();
        let mut in_the_way: Vec<&Reach> =
            self.running.values().filter_map(|beside| self.reach(*beside)).collect();
        for (place, reach) in firsts.into_iter().take(LOOK_AHEAD_MAX) {
            if !before(&place) {
                return None;
            }
            let reach = self.reach(Beside::Others(reach))?;
            if !in_the_way.iter().any(|other| other.meets(reach)) {
                return Some(place);
            }
            in_the_way.push(reach);
        }
        None
    }

    fn reach(&self, beside: Beside) -> Option<&Reach> {
        match beside {
            Beside::Others(reach) => self.reaches.get(reach as usize),
            Beside::Everyone | Beside::Nothing => None,
        }
    }
}

impl Line {
    fn change(&mut self, reach: u32, change: impl FnOnce(&mut BTreeSet<Place>) -> bool) {
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

    fn add_firsts(&self, lets: Lets, firsts: &mut Vec<(Place, u32)>) {
        match lets {
            Lets::Everyone => firsts.extend(self.firsts.iter().take(LOOK_AHEAD_MAX)),
            Lets::Only(place, Beside::Others(reach)) => {
                let waits = self.by_reach.get(&reach).is_some_and(|all| all.contains(&place));
                firsts.extend(waits.then_some((place, reach)));
            }
            Lets::Only(..) | Lets::Nothing => {}
        }
    }
}
