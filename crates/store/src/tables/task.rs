//! Tasks and jobs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{BuildId, Checked, Counters, Refused, RunId, Task, TaskId, TaskState};
use unstuck_core::fault::Fault;
use unstuck_core::plan::TaskSpec;
use unstuck_core::policy::Amount;
use unstuck_core::time::Time;

/// A task or job as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskRow {
    /// Its id.
    pub id: TaskId,
    /// The build it belongs to.
    pub build: BuildId,
    /// What it is.
    pub spec: Arc<TaskSpec>,
    /// Where it stands.
    #[serde(flatten)]
    pub moved: TaskChange,
}

/// What changes about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskChange {
    /// Where it stands.
    #[serde(flatten)]
    pub state: TaskState,
    /// Its latest run.
    pub last_run: Option<RunId>,
    /// How often a job was fired.
    pub firing: u32,
    /// When a job was last fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fired_at: Option<Time>,
    /// A job is left alone when its time comes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// How often an agent or its script began on it anew.
    pub attempts: u32,
    /// What the checks said of its latest attempt, one entry for each gate it came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Arc<Checked>>,
    /// It is done and nothing had to be changed: why, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<Arc<str>>,
    /// What its agent was not allowed to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// Its counters.
    pub counters: Counters,
    /// The fault it met last.
    pub failure: Option<Arc<Fault>>,
    /// What it has cost.
    pub spent: Amount,
    /// When it last changed.
    pub changed_at: Time,
}

impl TaskChange {
    pub(super) fn of(task: &Task, at: Time) -> Self {
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
