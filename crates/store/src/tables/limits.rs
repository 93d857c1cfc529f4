//! The tables behind the limits: gates, errors with their retry counts, and costs.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{AccountGate, GateClosing, GateState, SignatureRecord, TaskId};
use unstuck_core::fault::Code;
use unstuck_core::plan::GateKey;
use unstuck_core::policy::Amount;
use unstuck_core::signature::Signature;
use unstuck_core::time::Time;

/// A gate in its current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateRow {
    /// The account of the gate.
    pub key: GateKey,
    /// The state of the gate.
    #[serde(flatten)]
    pub state: GateState,
    /// The start of the current closing.
    pub since: Option<Time>,
    /// The code of the fault that closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<Code>,
    /// The most recent closings before that, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub closings: VecDeque<GateClosing>,
    /// Number of tasks that wait at it.
    pub waiters: u32,
    /// The time of its last change.
    pub changed_at: Time,
}

impl GateRow {
    pub(super) fn from_gate(key: GateKey, gate: &AccountGate, at: Time) -> Self {
        Self {
            key,
            state: gate.state,
            since: gate.since,
            closed_by: gate.closed_by,
            closings: gate.closings.clone(),
            waiters: u32::try_from(gate.waiters.len()).unwrap_or(u32::MAX),
            changed_at: at,
        }
    }
}

/// The record of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignatureRow {
    /// The signature of the error.
    pub signature: Signature,
    /// Number of failures that count against its retry budget.
    pub count: u32,
    /// Total number of failures.
    pub total: u64,
    /// The time of the first occurrence.
    pub first_seen: Time,
    /// The time of the last occurrence.
    pub last_seen: Time,
}

impl SignatureRow {
    pub(super) const fn from_record(signature: Signature, record: &SignatureRecord) -> Self {
        Self {
            signature,
            count: record.count,
            total: record.total,
            first_seen: record.first_seen,
            last_seen: record.last_seen,
        }
    }
}

/// The cost of a task in a budget window. In a batch: the additional cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostRow {
    /// The window: days since the epoch, as the policy counts them.
    pub day: u64,
    /// The task that spent it.
    pub task: TaskId,
    /// The amount spent.
    pub spent: Amount,
}
