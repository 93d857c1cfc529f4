//! The table of builds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Build, BuildId, BuildState, RedCheck, TaskStateKind};
use unstuck_core::fault::Fault;
use unstuck_core::policy::Amount;
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

    pub(super) fn from_build(build: &Build, at: Time) -> Self {
        let not_done = [TaskStateKind::Skipped, TaskStateKind::Failed, TaskStateKind::Cancelled];
        Self {
            id: build.id,
            state: build.state,
            standing: build.standing,
            session: build.session.clone(),
            client: build.client,
            tasks: u32::try_from(build.tasks.len()).unwrap_or(u32::MAX),
            done: build.count(TaskStateKind::Done),
            not_done: not_done.into_iter().map(|standing| build.count(standing)).sum(),
            parked: build.count(TaskStateKind::Parked),
            open_questions: build.open_questions,
            spent: build.spent,
            red_base: build.red_base.clone(),
            failure: build.failure.clone(),
            started_at: at,
            ended_at: build.state.has_ended().then_some(at),
        }
    }
}
