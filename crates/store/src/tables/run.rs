//! Runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Phase, RunId, Status, TaskId};
use unstuck_core::fault::Fault;
use unstuck_core::policy::Amount;
use unstuck_core::time::Time;

/// A run as it stands or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// The task it belongs to.
    pub task: TaskId,
    /// The run it follows.
    pub retry_of: Option<RunId>,
    /// How far it came.
    pub phase: Phase,
    /// Why it stands still, how it ended, or that it is at work.
    pub status: RunStatus,
    /// The fault it met last: code, type, category, source and message.
    pub fault: Option<Arc<Fault>>,
    /// Rounds of the agent.
    pub iterations: u32,
    /// Tools it called.
    pub tool_calls: u32,
    /// What it has cost.
    pub spent: Amount,
    /// When it began.
    pub started_at: Time,
    /// When it ended.
    pub ended_at: Option<Time>,
}

impl RunRow {
    /// Whether an agent began in it: not where what the work needs was not there.
    pub fn has_begun(&self) -> bool {
        let met_before = self.fault.as_ref().is_some_and(|fault| fault.comes_before_the_agent());
        self.iterations > 0
            || self.tool_calls > 0
            || self.status == RunStatus::Over(RunEnd::Committed)
            || !met_before
    }
}

/// Why a run stands still, how it ended, or that it is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RunStatus {
    /// A status of the engine.
    Standing(Status),
    /// It is over, and not by a fault.
    Over(RunEnd),
}

/// Ends that no fault brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// It succeeded.
    Committed,
    /// Its process was gone.
    Crashed,
    /// A person ended it.
    Cancelled,
}

/// What a batch changes about a run: what is not set stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChange {
    /// Which one.
    pub id: RunId,
    /// It began: the task, the run it follows, and when.
    pub began: Option<(TaskId, Option<RunId>, Time)>,
    /// How far it came.
    pub phase: Option<Phase>,
    /// Where it stands.
    pub status: Option<RunStatus>,
    /// A fault it met.
    pub fault: Option<Arc<Fault>>,
    /// More rounds.
    pub iterations: u32,
    /// More tools.
    pub tool_calls: u32,
    /// More cost.
    pub spent: Amount,
    /// When it ended.
    pub ended_at: Option<Time>,
}

impl RunChange {
    pub(super) const fn new(id: RunId) -> Self {
        Self {
            id,
            began: None,
            phase: None,
            status: None,
            fault: None,
            iterations: 0,
            tool_calls: 0,
            spent: Amount::ZERO,
            ended_at: None,
        }
    }
}
