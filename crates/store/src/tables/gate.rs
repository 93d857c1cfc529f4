//! Gates.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Closing, Gate, GateState};
use unstuck_core::fault::Code;
use unstuck_core::plan::GateKey;
use unstuck_core::time::Time;

/// A gate as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateRow {
    /// The account.
    pub key: GateKey,
    /// Where it stands.
    #[serde(flatten)]
    pub state: GateState,
    /// When the current trouble began.
    pub since: Option<Time>,
    /// What began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<Code>,
    /// The latest times it was closed before that, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub closings: VecDeque<Closing>,
    /// How many tasks wait there.
    pub waiters: u32,
    /// When it last changed.
    pub changed_at: Time,
}

impl GateRow {
    pub(super) fn of(key: GateKey, gate: &Gate, at: Time) -> Self {
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
