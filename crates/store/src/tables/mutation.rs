//! The ledger: every irreversible action ever intended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{MutationId, RunId, TaskId};
use unstuck_core::plan::MutationSpec;
use unstuck_core::time::Time;

/// An action as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MutationRow {
    /// Its id.
    pub id: MutationId,
    /// The task that intended it first.
    pub task: TaskId,
    /// The run that performed it last.
    pub run: RunId,
    /// What it is.
    pub spec: Arc<MutationSpec>,
    /// Where it stands.
    pub status: MutationStatus,
    /// What came back; empty while nothing did.
    pub result: Arc<str>,
    /// When it was intended.
    pub intended_at: Time,
    /// When it last changed.
    pub changed_at: Time,
}

/// Where an action stands.
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

/// What a batch changes about an action: what is not set stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutationChange {
    /// Which one.
    pub id: MutationId,
    /// It was intended: by which task, what, and when.
    pub intended: Option<(TaskId, Arc<MutationSpec>, Time)>,
    /// The run that performs it.
    pub run: Option<RunId>,
    /// Where it stands.
    pub status: MutationStatus,
    /// What came back.
    pub result: Option<Arc<str>>,
    /// When it changed.
    pub at: Time,
}
