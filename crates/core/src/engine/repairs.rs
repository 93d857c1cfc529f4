//! What was done about a job's broken script, in one firing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::question::Tried;
use super::signatures::APPROACHES_KEPT_MAX;
use crate::fault::Fault;

/// What was done about a job's script in this firing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repairs {
    /// How often something called for a repair. It numbers the repairs: one that is taken up again
    /// after a crash keeps its number, whoever answered a question meanwhile.
    pub called_for: u32,
    /// The repairs that did not help, oldest first.
    pub failed: Vec<Tried>,
    /// How the script itself failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broke: Option<Arc<Fault>>,
}

impl Repairs {
    /// Whether nothing was ever repaired.
    pub(super) const fn is_none(&self) -> bool {
        self.called_for == 0 && self.failed.is_empty() && self.broke.is_none()
    }

    /// Remembers a repair that did not help; the oldest go first.
    pub(super) fn remember(&mut self, tried: Tried) {
        if self.failed.len() == APPROACHES_KEPT_MAX {
            self.failed.remove(0);
        }
        self.failed.push(tried);
    }
}
