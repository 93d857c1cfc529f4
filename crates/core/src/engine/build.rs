//! Builds: one run of a plan each. Jobs share a standing build that never ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::apart::{Apart, Beside};
use super::checked::RedCheck;
use super::event::PauseCause;
use super::ids::{BuildId, RunId, TaskId};
use super::run::Status;
use super::task::Standing;
use crate::fault::Fault;
use crate::plan::GateKey;
use crate::policy::Amount;
use crate::time::Time;

/// Where a build stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BuildState {
    /// At work.
    Running,
    /// All that is left waits for a person.
    Waiting,
    /// Sleeps until the next budget window.
    Sleeping {
        /// When that opens.
        until: Time,
    },
    /// Held.
    Paused {
        /// Why.
        cause: PauseCause,
    },
    /// Over.
    Completed,
    /// Could not go on.
    Failed,
    /// Ended by a person.
    Cancelled,
}

impl BuildState {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting for a person",
            Self::Sleeping { .. } => "sleeping",
            Self::Paused { .. } => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it is over.
    pub const fn has_ended(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Running | Self::Waiting | Self::Sleeping { .. } | Self::Paused { .. } => false,
        }
    }

    /// Whether its runs may take their next step.
    pub const fn lets_work(self) -> bool {
        match self {
            Self::Running | Self::Waiting => true,
            Self::Sleeping { .. }
            | Self::Paused { .. }
            | Self::Completed
            | Self::Failed
            | Self::Cancelled => false,
        }
    }

    /// The status of a run that stands still because its build does.
    pub const fn holds_with(self) -> Status {
        match self {
            Self::Sleeping { .. } => Status::PausedTransient,
            Self::Paused { cause: PauseCause::Questions | PauseCause::Budget } => {
                Status::PausedApproval
            }
            Self::Paused { cause: PauseCause::Person }
            | Self::Running
            | Self::Waiting
            | Self::Completed
            | Self::Failed
            | Self::Cancelled => Status::PausedUser,
        }
    }
}

/// A task's place among those that can start: the most urgent first, then the oldest.
pub(super) type Place = (Reverse<i32>, TaskId);

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Its id.
    pub id: BuildId,
    /// Where it stands.
    pub state: BuildState,
    /// How many tasks may run side by side.
    pub slots: u32,
    /// The work happens in the user's own tree.
    pub in_place: bool,
    /// It holds the project's jobs and never ends.
    pub standing: bool,
    /// The title of the session that it is: a runtime elsewhere does its one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    /// It stands for what a client of the MCP server works on, and is no build of a plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
    /// How many of its tasks stand where.
    pub counts: [u32; Standing::COUNT],
    /// Tasks that can start beside everyone, most urgent first, by the gate their next step needs.
    #[serde(with = "super::pairs")]
    pub(super) ready: BTreeMap<Option<GateKey>, BTreeSet<Place>>,
    /// The tasks that do not run beside everyone.
    #[serde(default, skip_serializing_if = "Apart::is_empty")]
    pub(super) apart: Apart,
    /// Runs that stand still because the build does.
    pub held: BTreeSet<RunId>,
    /// The run that is being checked and merged.
    pub merging: Option<RunId>,
    /// Runs in line for that.
    pub merge_line: VecDeque<RunId>,
    /// Distinct open questions that park its tasks.
    pub open_questions: u32,
    /// How many more open questions a person allowed.
    pub questions_allowed: u32,
    /// The checks that were red on the commit it starts from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red_base: Vec<RedCheck>,
    /// Whether what is red at the base belongs to the work, once a person has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_belongs: Option<bool>,
    /// What it has cost.
    pub spent: Amount,
    /// What its running calls may cost.
    pub reserved: Amount,
    /// How much its budget was raised.
    pub raised: Amount,
    /// Why it could not go on at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Arc<Fault>>,
}

impl Build {
    /// A build at its beginning.
    pub const fn new(id: BuildId, slots: u32, in_place: bool, standing: bool) -> Self {
        Self {
            id,
            state: BuildState::Running,
            slots,
            in_place,
            standing,
            session: None,
            client: false,
            tasks: Vec::new(),
            counts: [0; Standing::COUNT],
            ready: BTreeMap::new(),
            apart: Apart::new(),
            held: BTreeSet::new(),
            merging: None,
            merge_line: VecDeque::new(),
            open_questions: 0,
            questions_allowed: 0,
            red_base: Vec::new(),
            base_belongs: None,
            spent: Amount::ZERO,
            reserved: Amount::ZERO,
            raised: Amount::ZERO,
            failure: None,
        }
    }

    /// How many of its tasks stand there.
    pub const fn count(&self, standing: Standing) -> u32 {
        self.counts[standing as usize]
    }

    /// How many of its tasks have not ended.
    pub const fn left(&self) -> u32 {
        self.live() + self.count(Standing::Parked)
    }

    /// Whether something of it goes on by itself: a task is at work or can begin. What needs a task
    /// that waits for a person waits for that person, too. In the user's own tree only the task that
    /// has taken it can begin.
    pub(super) fn goes_on(&self, taken_by: Option<TaskId>) -> bool {
        let at_work = self.count(Standing::Running)
            + self.count(Standing::BackingOff)
            + self.count(Standing::Reconciling);
        at_work > 0 || self.ready().any(|task| taken_by.is_none_or(|taken| taken == task))
    }

    /// How many of its tasks have not ended and wait for no answer of their own.
    pub const fn live(&self) -> u32 {
        self.count(Standing::Pending)
            + self.count(Standing::Running)
            + self.count(Standing::BackingOff)
            + self.count(Standing::Reconciling)
    }

    /// Tasks that can start as soon as a place and their gate let them.
    pub fn ready(&self) -> impl Iterator<Item = TaskId> {
        self.ready.values().flatten().chain(self.apart.ready()).map(|(_, task)| *task)
    }

    /// Whether a task that can start needs this gate.
    pub(super) fn waits_at(&self, gate: GateKey) -> bool {
        self.ready.contains_key(&Some(gate)) || self.apart.waits_at(gate)
    }

    pub(super) fn queue(&mut self, gate: Option<GateKey>, place: Place, beside: Beside) {
        if !beside.is_everyone() {
            return self.apart.queue(gate, place, beside);
        }
        self.ready.entry(gate).or_default().insert(place);
    }

    pub(super) fn unqueue(&mut self, gate: Option<GateKey>, place: Place, beside: Beside) {
        if !beside.is_everyone() {
            return self.apart.unqueue(gate, place, beside);
        }
        if let Some(places) = self.ready.get_mut(&gate) {
            places.remove(&place);
            if places.is_empty() {
                self.ready.remove(&gate);
            }
        }
    }
}
