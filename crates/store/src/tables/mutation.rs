//! The ledger: every irreversible action ever intended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{MutationId, RunId, TaskId};
use unstuck_core::plan::MutationSpec;
use unstuck_core::time::Time;

/// An action in its current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MutationRow {
    /// The id of the action.
    pub id: MutationId,
    /// The task that intended it first.
    pub task: TaskId,
    /// The run that performed it last.
    pub run: RunId,
    /// The specification of the action.
    pub spec: Arc<MutationSpec>,
    /// The status of the action.
    pub status: MutationStatus,
    /// The result; empty while there is none.
    pub result: Arc<str>,
    /// The time at which it was intended.
    pub intended_at: Time,
    /// The time of its last change.
    pub changed_at: Time,
}

/// The status of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the states of 'engine::MutationState'")]
pub enum MutationStatus {
    Intended,
    InFlight,
    Probing,
    Settling,
    Indeterminate,
    Applied,
    Failed,
    NotApplied,
    Skipped,
}

/// A batch's change of an action; fields that are not set stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationChange {
    /// The id of the action.
    pub id: MutationId,
    /// The task, specification and time, if it was intended in this batch.
    pub intended: Option<(TaskId, Arc<MutationSpec>, Time)>,
    /// The run that performs it.
    pub run: Option<RunId>,
    /// The new status.
    pub status: MutationStatus,
    /// The result.
    pub result: Option<Arc<str>>,
    /// The time of the change.
    pub at: Time,
}
