//! The ledger: records every irreversible action, the intent before it and the outcome after it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{EffectId, IdTable, MutationId, RunId, TaskId};
use super::question::ActionFacts;
use crate::plan::MutationSpec;
use crate::time::Time;

/// The state of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MutationState {
    /// Recorded, not yet sent.
    Intended,
    /// Sent; the outcome is not known yet.
    InFlight {
        /// The effect that performs the action.
        effect: EffectId,
    },
    /// Being probed.
    Probing {
        /// The effect that probes the action.
        effect: EffectId,
    },
    /// Not visible yet; probed again later.
    Settling {
        /// Time of the next probe.
        until: Time,
    },
    /// Impossible to determine.
    Indeterminate,
    /// The action happened.
    Applied {
        /// The response; empty if the operator confirmed the action without more.
        result: Arc<str>,
    },
    /// The action did not happen and may be performed again.
    NotApplied,
    /// The action is skipped.
    Skipped,
}

impl MutationState {
    /// Returns whether the action may have happened without a known outcome.
    pub const fn is_open(&self) -> bool {
        match self {
            Self::InFlight { .. }
            | Self::Probing { .. }
            | Self::Settling { .. }
            | Self::Indeterminate => true,
            Self::Intended | Self::Applied { .. } | Self::NotApplied | Self::Skipped => false,
        }
    }
}

/// The scope within which an idempotency key is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occurrence {
    /// A task, or one firing of a job, with all its retries and repairs.
    Firing(TaskId, u32),
    /// An attempt at a task: its merges and pushes are about its own commits.
    Attempt(TaskId, u32),
    /// The whole project.
    Project,
}

/// A key belongs to an action with other arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyTaken;

/// An irreversible action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutation {
    /// The action's id.
    pub id: MutationId,
    /// The run that performs it.
    pub run: RunId,
    /// The task that the action belongs to.
    pub task: TaskId,
    /// The scope within which its key is unique.
    pub occurrence: Occurrence,
    /// The specification of the action.
    pub spec: Arc<MutationSpec>,
    /// The current state.
    pub state: MutationState,
    /// Latest time at which the action may have been sent: a decided call may be made a good deal
    /// later.
    pub sent_at: Time,
    /// Time at which the probed call was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_at: Option<Time>,
    /// Response to that call, if it does not tell whether the call got through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_back: Option<Arc<str>>,
    /// Number of probes since the action was last sent.
    pub probes: u32,
    /// Time of the last probe; a result that appeared later was not seen.
    pub probed_at: Time,
    /// Output of the latest probe, if it was inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_said: Option<Arc<str>>,
}

impl Mutation {
    /// Returns whether the key may be used for another action: this one did not happen.
    pub const fn leaves_key_free(&self) -> bool {
        matches!(self.state, MutationState::NotApplied)
    }

    /// Returns the facts that the operator needs to say whether the action happened.
    pub fn facts(&self) -> ActionFacts {
        ActionFacts {
            key: self.spec.key.clone(),
            call: self.spec.render_line(),
            sent_at: self.called_at.unwrap_or(self.sent_at),
            came_back: self.came_back.clone(),
            probe: self.spec.render_probe(),
            probe_said: self.probe_said.clone(),
            probed_at: (self.probes > 0).then_some(self.probed_at),
            look_at: self.spec.look_at(),
        }
    }
}

/// All actions that still matter: those of living tasks and firings, and permanent ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ledger {
    pub(super) mutations: IdTable<MutationId, Mutation>,
    /// The actions whose keys hold for the whole project, by key.
    pub(super) permanent: BTreeMap<Arc<str>, MutationId>,
    /// Actions whose records were lost, by key, with the latest time at which each may have been
    /// sent: they may have happened.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) doubted: BTreeMap<Arc<str>, Time>,
}

/// An action that may have happened and whose record was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoubtedAction {
    /// The action's idempotency key.
    pub key: Arc<str>,
    /// Latest time at which it may have been sent.
    pub at: Time,
}
