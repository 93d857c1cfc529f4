//! Tasks of a build that are kept apart: two that reach into one part of the project do not run
//! side by side, and one that says so runs beside nobody.
//!
//! Only running tasks keep others out; one that waits, for whatever, does not. Where a place is
//! free, a task does not overtake a more urgent one that it would then keep out: otherwise small
//! tasks could hold up a large one for as long as there are any.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::build::Place;
use super::ids::TaskId;
use crate::plan::{GateKey, Reach, TaskSpec};

/// How many different scopes are looked at for one that can start, per decision. Places are few and
/// the next decision looks again, so one that stays empty a little longer costs less than comparing
/// thousands of scopes each time.
const LOOK_AHEAD_MAX: usize = 64;

/// Beside whom a task may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Everyone.
    #[default]
    Everyone,
    /// Everyone who reaches into no part of the project that it reaches into: the place of that
    /// reach in its build's list.
    Others(u32),
    /// Nobody.
    Nobody,
}

impl Beside {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
    pub(super) const fn is_everyone(&self) -> bool {
        matches!(self, Self::Everyone)
    }
}

/// Whom a gate lets start.
#[derive(Clone, Copy)]
pub(super) enum Lets {
    Everyone,
    Only(Place, Beside),
    Nobody,
}

impl Lets {
    /// The most urgent of them among tasks of one kind.
    pub(super) fn first(self, places: &BTreeSet<Place>) -> Option<Place> {
        match self {
            Self::Everyone => places.first().copied(),
            Self::Only(place, _) => places.contains(&place).then_some(place),
            Self::Nobody => None,
        }
    }
}

/// The tasks of a build that do not run beside everyone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Apart {
    /// Where they reach. Tasks with the same reach share its place.
    reaches: Vec<Reach>,
    /// Those that can start, by the gate their next step needs.
    #[serde(with = "super::pairs")]
    lines: BTreeMap<Option<GateKey>, Line>,
    /// Those that run.
    running: BTreeMap<TaskId, Beside>,
}

/// Tasks that can start, as soon as nobody is in their way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    /// Beside nobody.
    alone: BTreeSet<Place>,
    /// Beside others, by where they reach.
    by_reach: BTreeMap<u32, BTreeSet<Place>>,
    /// The first one of each reach, most urgent first.
    firsts: BTreeSet<(Place, u32)>,
}

impl Apart {
    pub(super) const fn new() -> Self {
        Self { reaches: Vec::new(), lines: BTreeMap::new(), running: BTreeMap::new() }
    }

    /// Whether every task of the build may run beside every other.
    pub(super) fn is_empty(&self) -> bool {
        self.reaches.is_empty() && self.is_idle()
    }

    /// Whether nobody is in line or in the way just now.
    pub(super) fn is_idle(&self) -> bool {
        self.lines.is_empty() && self.running.is_empty()
    }

    /// Beside whom each task of a plan may run.
    pub(super) fn take_in<'a>(&mut self, specs: impl Iterator<Item = &'a TaskSpec>) -> Vec<Beside> {
        let mut known: BTreeMap<Reach, u32> = BTreeMap::new();
        specs
            .map(|spec| match Reach::of(&spec.scope) {
                _ if spec.serialize => Beside::Nobody,
                None => Beside::Everyone,
                Some(reach) => Beside::Others(*known.entry(reach).or_insert_with_key(|reach| {
                    self.reaches.push(reach.clone());
                    u32::try_from(self.reaches.len() - 1).unwrap_or(u32::MAX)
                })),
            })
            .collect()
    }

    /// Tasks that can start as soon as nobody is in their way.
    pub(super) fn ready(&self) -> impl Iterator<Item = &Place> {
        let lines = self.lines.values();
        lines.flat_map(|line| line.alone.iter().chain(line.by_reach.values().flatten()))
    }

    /// Whether one of them needs this gate.
    pub(super) fn waits_at(&self, gate: GateKey) -> bool {
        self.lines.contains_key(&Some(gate))
    }

    pub(super) fn queue(&mut self, gate: Option<GateKey>, place: Place, beside: Beside) {
        let line = self.lines.entry(gate).or_default();
        match beside {
            Beside::Nobody => {
                line.alone.insert(place);
            }
            Beside::Others(reach) => line.change(reach, |places| places.insert(place)),
            Beside::Everyone => {}
        }
    }

    pub(super) fn unqueue(&mut self, gate: Option<GateKey>, place: Place, beside: Beside) {
        let Some(line) = self.lines.get_mut(&gate) else { return };
        match beside {
            Beside::Nobody => {
                line.alone.remove(&place);
            }
            Beside::Others(reach) => line.change(reach, |places| places.remove(&place)),
            Beside::Everyone => {}
        }
        if line.alone.is_empty() && line.by_reach.is_empty() {
            self.lines.remove(&gate);
        }
    }

    /// The task runs now, or does not any more.
    pub(super) fn runs(&mut self, task: TaskId, beside: Beside, runs: bool) {
        if runs {
            self.running.insert(task, beside);
        } else {
            self.running.remove(&task);
        }
    }

    /// The most urgent task that nobody is in the way of. `free` is the most urgent of those that
    /// run beside everyone, and `anyone` says whether any task of the build runs.
    pub(super) fn first(
        &self,
        free: Option<Place>,
        anyone: bool,
        lets: impl Fn(Option<GateKey>) -> Lets,
    ) -> Option<Place> {
        if self.running.values().any(|beside| *beside == Beside::Nobody) {
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
            Beside::Everyone | Beside::Nobody => None,
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
            Lets::Only(..) | Lets::Nobody => {}
        }
    }
}
