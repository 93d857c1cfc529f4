//! The table of tasks and jobs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{BuildId, Checked, Counters, Refused, RunId, Task, TaskId, TaskState};
use unstuck_core::fault::Fault;
use unstuck_core::plan::TaskSpec;
use unstuck_core::policy::Amount;
use unstuck_core::time::Time;

/// A task or job in its current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskRow {
    /// The id of the task.
    pub id: TaskId,
    /// The build it belongs to.
    pub build: BuildId,
    /// The specification of the task.
    pub spec: Arc<TaskSpec>,
    /// The changing part of the row.
    #[serde(flatten)]
    pub moved: TaskChange,
}

/// The changing part of a task's row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskChange {
    /// The state of the task.
    #[serde(flatten)]
    pub state: TaskState,
    /// The latest run.
    pub last_run: Option<RunId>,
    /// Number of firings of a job.
    pub firing: u32,
    /// The time of the last firing of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fired_at: Option<Time>,
    /// `true` if a job is not fired by its schedule.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Number of times an agent or its script began anew.
    pub attempts: u32,
    /// The results of the checks on its latest attempt, one entry for each gate it reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Arc<Checked>>,
    /// The agent's reason why no change was needed, if the task is done without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<Arc<str>>,
    /// The actions that its agent was denied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// The counters of the task.
    pub counters: Counters,
    /// The last fault.
    pub failure: Option<Arc<Fault>>,
    /// The total cost.
    pub spent: Amount,
    /// The time of its last change.
    pub changed_at: Time,
}

impl TaskChange {
    pub(super) fn from_task(task: &Task, at: Time) -> Self {
        Self {
            state: task.state.clone(),
            last_run: task.last_run,
            firing: task.firing,
            fired_at: (task.firing > 0).then_some(task.fired_at),
            held: task.held,
            attempts: task.attempts,
            checked: task.checked.clone(),
            unchanged: task.unchanged.clone(),
            refused: task.refused.clone(),
            counters: task.counters,
            failure: task.failure.clone(),
            spent: task.spent,
            changed_at: at,
        }
    }
}
