//! The table of runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Phase, RunId, Status, TaskId};
use unstuck_core::fault::Fault;
use unstuck_core::policy::Amount;
use unstuck_core::time::Time;

/// A run in its current or final state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRow {
    /// The id of the run.
    pub id: RunId,
    /// The task it belongs to.
    pub task: TaskId,
    /// The run it follows.
    pub retry_of: Option<RunId>,
    /// The last phase it reached.
    pub phase: Phase,
    /// The current status, or the way it ended.
    pub status: RunStatus,
    /// The last fault: code, type, category, source and message.
    pub fault: Option<Arc<Fault>>,
    /// Number of rounds of the agent.
    pub iterations: u32,
    /// Number of tool calls.
    pub tool_calls: u32,
    /// The total cost.
    pub spent: Amount,
    /// The time of its start.
    pub started_at: Time,
    /// The time of its end.
    pub ended_at: Option<Time>,
}

impl RunRow {
    /// Returns whether an agent began in it, which is not so if a prerequisite was missing.
    pub fn has_begun(&self) -> bool {
        let met_before = self.fault.as_ref().is_some_and(|fault| fault.precedes_agent());
        self.iterations > 0
            || self.tool_calls > 0
            || self.status == RunStatus::Over(RunEnd::Committed)
            || !met_before
    }
}

/// The status of a run: active, paused, or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RunStatus {
    /// A status of the engine.
    Standing(Status),
    /// An end that was not caused by a fault.
    Over(RunEnd),
}

/// The ends that are not caused by a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// The run succeeded.
    Committed,
    /// The process of the run was gone.
    Crashed,
    /// A person ended the run.
    Cancelled,
}

/// A batch's change of a run; fields that are not set stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChange {
    /// The id of the run.
    pub id: RunId,
    /// The task, the preceding run and the time, if it began in this batch.
    pub began: Option<(TaskId, Option<RunId>, Time)>,
    /// The last phase it reached.
    pub phase: Option<Phase>,
    /// The new status.
    pub status: Option<RunStatus>,
    /// The last fault.
    pub fault: Option<Arc<Fault>>,
    /// Additional rounds of the agent.
    pub iterations: u32,
    /// Additional tool calls.
    pub tool_calls: u32,
    /// Additional cost.
    pub spent: Amount,
    /// The time of its end.
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
