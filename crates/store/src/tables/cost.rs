//! What was spent.

use serde::{Deserialize, Serialize};
use unstuck_core::engine::TaskId;
use unstuck_core::policy::Amount;

/// What one task has spent in one budget window. In a batch: how much more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostRow {
    /// The window: days since the epoch, as the policy counts them.
    pub day: u64,
    /// The task.
    pub task: TaskId,
    /// How much.
    pub spent: Amount,
}
