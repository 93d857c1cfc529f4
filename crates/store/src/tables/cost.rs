//! The table of costs.

use serde::{Deserialize, Serialize};
use unstuck_core::engine::TaskId;
use unstuck_core::policy::Amount;

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
