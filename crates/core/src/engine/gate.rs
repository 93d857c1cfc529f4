//! Gates: the breaker that all work on one account shares.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::ids::TaskId;
use crate::time::Time;

/// Where a gate stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum GateState {
    /// Calls pass.
    #[default]
    Passing,
    /// Nobody calls.
    Waiting {
        /// Until then.
        until: Time,
    },
    /// One task calls; the others wait for how it goes.
    Probing {
        /// Which one.
        task: TaskId,
    },
}

/// The breaker of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Where it stands.
    pub state: GateState,
    /// When the current trouble began.
    pub since: Option<Time>,
    /// How often the account was limited since then.
    pub limited: u32,
    /// How many usage windows were waited for since then.
    pub windows: u32,
    /// Failures of the service in a row.
    pub errors: u32,
    /// Tasks that wait.
    pub waiters: BTreeSet<TaskId>,
    /// How many go on in the next group.
    pub group: u32,
    /// When the next group goes on.
    pub release_at: Option<Time>,
}

impl Gate {
    /// Whether nobody may call.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, GateState::Waiting { .. })
    }

    /// Whether `task` may call.
    pub fn lets_pass(&self, task: TaskId) -> bool {
        match self.state {
            GateState::Passing => true,
            GateState::Waiting { .. } => false,
            GateState::Probing { task: probe } => probe == task,
        }
    }
}
