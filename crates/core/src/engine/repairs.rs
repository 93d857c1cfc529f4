//! The repairs of a job's broken script within one firing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::question::Tried;
use super::signatures::APPROACHES_KEPT_MAX;
use crate::fault::Fault;

/// The repairs of a job's script in the current firing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repairs {
    /// Number of times that a fault called for a repair. It numbers the repairs: one that is
    /// resumed after a crash keeps its number, even if a question was answered meanwhile.
    pub called_for: u32,
    /// The failed repairs, oldest first.
    pub failed: Vec<Tried>,
    /// The latest fault of the script itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broke: Option<Arc<Fault>>,
}

impl Repairs {
    /// Returns whether the script neither broke nor called for a repair.
    pub(super) const fn is_none(&self) -> bool {
        self.called_for == 0 && self.failed.is_empty() && self.broke.is_none()
    }

    /// Remembers a failed repair; the oldest are dropped first.
    pub(super) fn remember_failed(&mut self, tried: Tried) {
        if self.failed.len() == APPROACHES_KEPT_MAX {
            self.failed.remove(0);
        }
        self.failed.push(tried);
    }
}
