//! Gates: the breaker that all work on one account shares.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::ids::TaskId;
use crate::fault::Code;
use crate::time::Time;

/// How many times that an account was closed are remembered.
pub const CLOSINGS_KEPT_MAX: usize = 32;

/// Where a gate stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// A time that an account let nobody pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Closing {
    /// Since then.
    pub from: Time,
    /// Until then.
    pub to: Time,
    /// What began it.
    pub code: Code,
}

/// The breaker of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Where it stands.
    pub state: GateState,
    /// When the current trouble began.
    pub since: Option<Time>,
    /// What began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<Code>,
    /// The latest times it was closed before that, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub closings: VecDeque<Closing>,
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

    /// The current trouble, where there is one, is over.
    pub(super) fn opened(&mut self, at: Time) {
        if let (Some(from), Some(code)) = (self.since.take(), self.closed_by.take()) {
            if self.closings.len() == CLOSINGS_KEPT_MAX {
                self.closings.pop_front();
            }
            self.closings.push_back(Closing { from, to: at, code });
        }
    }

    /// Whether something went wrong since the account last worked.
    pub const fn is_troubled(&self) -> bool {
        self.since.is_some() || self.limited > 0 || self.windows > 0 || self.errors > 0
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
