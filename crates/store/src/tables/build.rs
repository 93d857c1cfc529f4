//! Builds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Build, BuildId, BuildState, RedCheck, Standing};
use unstuck_core::fault::Fault;
use unstuck_core::policy::Amount;
use unstuck_core::time::Time;

/// A build as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuildRow {
    /// Its id.
    pub id: BuildId,
    /// Where it stands.
    #[serde(flatten)]
    pub state: BuildState,
    /// It is the one all jobs share.
    pub standing: bool,
    /// The title of the session that it is: a runtime elsewhere does its one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    /// It stands for what a client of the MCP server works on, and is no build of a plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
    /// How many tasks it has.
    pub tasks: u32,
    /// How many of them are done.
    pub done: u32,
    /// How many of them ended without being done.
    pub not_done: u32,
    /// How many of them wait for a person.
    pub parked: u32,
    /// Its open questions.
    pub open_questions: u32,
    /// What it has cost.
    pub spent: Amount,
    /// The checks that were red before any agent worked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red_base: Vec<RedCheck>,
    /// Why it could not go on at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Arc<Fault>>,
    /// When it was started. The first value stays.
    pub started_at: Time,
    /// When it came to its end. The first value stays until it is alive again.
    pub ended_at: Option<Time>,
}

impl BuildRow {
    /// Whether its tasks are performed here, in worktrees and on a branch: not by scripts, not by a
    /// runtime elsewhere, and not by a client of the MCP server.
    pub const fn is_performed_here(&self) -> bool {
        !self.standing && self.session.is_none() && !self.client
    }

    pub(super) fn of(build: &Build, at: Time) -> Self {
        let not_done = [Standing::Skipped, Standing::Failed, Standing::Cancelled];
        Self {
            id: build.id,
            state: build.state,
            standing: build.standing,
            session: build.session.clone(),
            client: build.client,
            tasks: u32::try_from(build.tasks.len()).unwrap_or(u32::MAX),
            done: build.count(Standing::Done),
            not_done: not_done.into_iter().map(|standing| build.count(standing)).sum(),
            parked: build.count(Standing::Parked),
            open_questions: build.open_questions,
            spent: build.spent,
            red_base: build.red_base.clone(),
            failure: build.failure.clone(),
            started_at: at,
            ended_at: build.state.has_ended().then_some(at),
        }
    }
}
