//! The tables of builds, tasks and runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{
    Build, BuildId, BuildState, Checked, Counters, Phase, RedCheck, Refused, RunId, Status, Task,
    TaskId, TaskState,
};
use unstuck_core::fault::Fault;
use unstuck_core::plan::TaskSpec;
use unstuck_core::policy::Amount;
use unstuck_core::tell::BuildTally;
use unstuck_core::time::Time;

/// A build in its current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuildRow {
    /// The id of the build.
    pub id: BuildId,
    /// The state of the build.
    #[serde(flatten)]
    pub state: BuildState,
    /// `true` for the build that all jobs share.
    pub standing: bool,
    /// The title, if the build is a session: an external runtime does its single task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    /// `true` if it stands for the work of a client of the MCP server, and is not a build of a plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
    /// Number of tasks.
    pub tasks: u32,
    /// Number of tasks that are done.
    pub done: u32,
    /// Number of those that needed no change.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unchanged: u32,
    /// Number of tasks that ended without being done.
    pub not_done: u32,
    /// Number of tasks that wait for a person.
    pub parked: u32,
    /// Number of open questions.
    pub open_questions: u32,
    /// The total cost.
    pub spent: Amount,
    /// The checks that were red before any agent worked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red_base: Vec<RedCheck>,
    /// The fault that ended the build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Arc<Fault>>,
    /// The time of its start. The first value stays.
    pub started_at: Time,
    /// The time of its end. The first value stays until the build is revived.
    pub ended_at: Option<Time>,
}

impl BuildRow {
    /// Returns whether Unstuck performs its tasks, in worktrees and on a branch: not scripts, not an external
    /// runtime, and not a client of the MCP server.
    pub const fn is_performed_here(&self) -> bool {
        !self.standing && self.session.is_none() && !self.client
    }

    /// Returns the progress of its tasks.
    pub const fn tally(&self) -> BuildTally {
        BuildTally {
            tasks: self.tasks,
            done: self.done.saturating_sub(self.unchanged),
            unchanged: self.unchanged,
            not_done: self.not_done,
            waiting: self.parked,
        }
    }

    pub(super) fn from_build(build: &Build, at: Time) -> Self {
        let tally = BuildTally::from_build(build);
        Self {
            id: build.id,
            state: build.state,
            standing: build.standing,
            session: build.session.clone(),
            client: build.client,
            tasks: tally.tasks,
            done: tally.settled(),
            unchanged: tally.unchanged,
            not_done: tally.not_done,
            parked: tally.waiting,
            open_questions: build.open_questions,
            spent: build.spent,
            red_base: build.red_base.clone(),
            failure: build.failure.clone(),
            started_at: at,
            ended_at: build.state.has_ended().then_some(at),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over like this")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

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
