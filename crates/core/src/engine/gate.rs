//! Gates: the circuit breaker that all work on one account shares.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::ids::TaskId;
use crate::fault::Code;
use crate::time::Time;

/// Maximum number of past closings remembered per account.
pub const CLOSINGS_KEPT_MAX: usize = 32;

/// The state of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum GateState {
    /// Calls pass.
    #[default]
    Passing,
    /// No task calls.
    Waiting {
        /// Time at which the wait ends.
        until: Time,
    },
    /// A single task calls; the others wait for its result.
    Probing {
        /// The task that calls.
        task: TaskId,
    },
}

/// A period in which an account let no task pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateClosing {
    /// Start of the period.
    pub from: Time,
    /// End of the period.
    pub to: Time,
    /// Code of the fault that began it.
    pub code: Code,
}

/// The circuit breaker of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountGate {
    /// The current state.
    pub state: GateState,
    /// Time at which the current trouble began.
    pub since: Option<Time>,
    /// Code of the fault that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<Code>,
    /// The latest closings before that, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub closings: VecDeque<GateClosing>,
    /// Number of times the account was limited since then.
    pub limited: u32,
    /// Number of usage windows waited for since then.
    pub windows: u32,
    /// Number of consecutive failures of the service.
    pub errors: u32,
    /// The tasks that wait at the gate.
    pub waiters: BTreeSet<TaskId>,
    /// Number of tasks in the next group to be released.
    pub group: u32,
    /// Time at which the next group is released.
    pub release_at: Option<Time>,
}

impl AccountGate {
    /// Returns whether no task may call.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, GateState::Waiting { .. })
    }

    /// Ends the current trouble, if there is any, and adds it to the past closings.
    pub(super) fn record_opening(&mut self, at: Time) {
        if let (Some(from), Some(code)) = (self.since.take(), self.closed_by.take()) {
            if self.closings.len() == CLOSINGS_KEPT_MAX {
                self.closings.pop_front();
            }
            self.closings.push_back(GateClosing { from, to: at, code });
        }
    }

    /// Returns whether a call failed since the account last worked.
    pub const fn is_troubled(&self) -> bool {
        self.since.is_some() || self.limited > 0 || self.windows > 0 || self.errors > 0
    }

    /// Returns whether `task` may call.
    pub fn lets_pass(&self, task: TaskId) -> bool {
        match self.state {
            GateState::Passing => true,
            GateState::Waiting { .. } => false,
            GateState::Probing { task: probe } => probe == task,
        }
    }
}
