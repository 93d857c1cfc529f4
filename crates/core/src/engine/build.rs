//! Builds: one execution of a plan each. Jobs share a standing build that never ends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::apart::{ConflictSet, Exclusivity, QueuePosition};
use super::checked::RedCheck;
use super::event::PauseCause;
use super::ids::{BuildId, RunId, TaskId};
use super::run::Status;
use super::task::TaskStateKind;
use crate::fault::Fault;
use crate::plan::GateKey;
use crate::policy::Amount;
use crate::time::Time;

/// The state of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BuildState {
    /// The build is at work.
    Running,
    /// All remaining tasks wait for the operator.
    Waiting,
    /// The build sleeps until the next budget window.
    Sleeping {
        /// Time at which the window opens.
        until: Time,
    },
    /// The build is on hold.
    Paused {
        /// The reason for the pause.
        cause: PauseCause,
    },
    /// All tasks have ended.
    Completed,
    /// The build could not continue.
    Failed,
    /// The operator ended the build.
    Cancelled,
}

impl BuildState {
    /// Returns the state in words, for people.
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

    /// Returns whether the build is over.
    pub const fn has_ended(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Running | Self::Waiting | Self::Sleeping { .. } | Self::Paused { .. } => false,
        }
    }

    /// Returns whether the build's runs may take their next step.
    pub const fn allows_work(self) -> bool {
        match self {
            Self::Running | Self::Waiting => true,
            Self::Sleeping { .. }
            | Self::Paused { .. }
            | Self::Completed
            | Self::Failed
            | Self::Cancelled => false,
        }
    }

    /// Returns the status of a run that is paused because its build is.
    pub const fn held_run_status(self) -> Status {
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

/// The amount by which the operator raised the budget of a day for one build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaisedDay {
    /// The day for which it holds.
    pub day: u64,
    /// The additional amount.
    pub more: Amount,
}

/// An execution of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The build's id.
    pub id: BuildId,
    /// The current state.
    pub state: BuildState,
    /// Maximum number of tasks that run concurrently.
    pub slots: u32,
    /// True if the work happens in the user's own working tree.
    pub in_place: bool,
    /// True for the build that holds the project's jobs and never ends.
    pub standing: bool,
    /// The session's title, if the build is a session: an external runtime performs its one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    /// True if the build stands for the work of an MCP client and is no build of a plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
    /// The tasks of the build, oldest first.
    pub tasks: Vec<TaskId>,
    /// Number of tasks in each standing.
    pub counts: [u32; TaskStateKind::COUNT],
    /// Number of those that are done and needed no change.
    #[serde(default, skip_serializing_if = "super::checked::is_zero")]
    pub unchanged: u32,
    /// Tasks that can start beside all others, most urgent first, by the gate that their next step
    /// needs.
    #[serde(with = "super::ids::pairs")]
    pub(super) ready: BTreeMap<Option<GateKey>, BTreeSet<QueuePosition>>,
    /// Tasks that do not run beside all others.
    #[serde(default, skip_serializing_if = "ConflictSet::is_empty")]
    pub(super) apart: ConflictSet,
    /// Runs that are paused because the build is.
    pub held: BTreeSet<RunId>,
    /// The run that is being checked and merged, one at a time.
    pub merging: Option<RunId>,
    /// The queue of runs that wait to be checked and merged.
    pub merge_line: VecDeque<RunId>,
    /// Number of distinct open questions that park tasks of the build.
    pub open_questions: u32,
    /// Number of additional open questions that the operator allowed.
    pub questions_allowed: u32,
    /// Checks that were red on the commit that the build starts from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red_base: Vec<RedCheck>,
    /// The operator's judgement whether the red checks of the base belong to the work; `None` until
    /// it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_belongs: Option<bool>,
    /// Cost so far.
    pub spent: Amount,
    /// Maximum cost of the calls in progress.
    pub reserved: Amount,
    /// Amount by which the operator raised the budget.
    pub raised: Amount,
    /// Amount by which the operator raised the budget of a day for this build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised_day: Option<RaisedDay>,
    /// The fault that kept the build from continuing at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Arc<Fault>>,
}

impl Build {
    /// Creates a running build without tasks.
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
            counts: [0; TaskStateKind::COUNT],
            unchanged: 0,
            ready: BTreeMap::new(),
            apart: ConflictSet::new(),
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
            raised_day: None,
            failure: None,
        }
    }

    /// Returns the amount by which the operator raised the budget of a day. A clock that was set
    /// back does not take it away.
    pub fn raised_on(&self, day: u64) -> Amount {
        self.raised_day
            .filter(|raised| day <= raised.day)
            .map_or(Amount::ZERO, |raised| raised.more)
    }

    /// Returns the number of tasks with this standing.
    pub const fn count(&self, standing: TaskStateKind) -> u32 {
        self.counts[standing as usize]
    }

    /// Returns the number of tasks that have not ended.
    pub const fn unfinished_count(&self) -> u32 {
        self.live_count() + self.count(TaskStateKind::Parked)
    }

    /// Returns whether the build makes progress without the operator: a task is at work or can
    /// start. A task that needs a parked task waits for the operator, too. In the user's own tree
    /// only the task that has taken it can start.
    pub(super) fn can_proceed(&self, taken_by: Option<TaskId>) -> bool {
        let at_work = self.count(TaskStateKind::Running)
            + self.count(TaskStateKind::BackingOff)
            + self.count(TaskStateKind::Reconciling);
        at_work > 0 || self.ready_tasks().any(|task| taken_by.is_none_or(|taken| taken == task))
    }

    /// Returns the number of tasks that have not ended and are not parked.
    pub const fn live_count(&self) -> u32 {
        self.count(TaskStateKind::Pending)
            + self.count(TaskStateKind::Running)
            + self.count(TaskStateKind::BackingOff)
            + self.count(TaskStateKind::Reconciling)
    }

    /// Returns the tasks that can start as soon as a slot and their gate let them.
    pub fn ready_tasks(&self) -> impl Iterator<Item = TaskId> {
        self.ready.values().flatten().chain(self.apart.ready_tasks()).map(|(_, task)| *task)
    }

    /// Returns whether a task that can start needs this gate.
    pub(super) fn waits_at(&self, gate: GateKey) -> bool {
        self.ready.contains_key(&Some(gate)) || self.apart.waits_at(gate)
    }

    pub(super) fn enqueue(
        &mut self,
        gate: Option<GateKey>,
        place: QueuePosition,
        beside: Exclusivity,
    ) {
        if !beside.is_everyone() {
            return self.apart.enqueue(gate, place, beside);
        }
        self.ready.entry(gate).or_default().insert(place);
    }

    pub(super) fn dequeue(
        &mut self,
        gate: Option<GateKey>,
        place: QueuePosition,
        beside: Exclusivity,
    ) {
        if !beside.is_everyone() {
            return self.apart.dequeue(gate, place, beside);
        }
        if let Some(places) = self.ready.get_mut(&gate) {
            places.remove(&place);
            if places.is_empty() {
                self.ready.remove(&gate);
            }
        }
    }
}
