//! The ledger: every irreversible action, intent first, outcome after.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{EffectId, MutationId, RunId, TaskId};
use super::question::ActionFacts;
use super::table::Table;
use super::task::Task;
use crate::plan::MutationSpec;
use crate::time::Time;

/// Where an action stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MutationState {
    /// Written down, not yet sent.
    Intended,
    /// Sent.
    InFlight {
        /// The effect that performs it.
        effect: EffectId,
    },
    /// Being looked up.
    Probing {
        /// The effect that looks it up.
        effect: EffectId,
    },
    /// Not there yet; looked up again later.
    Settling {
        /// Then.
        until: Time,
    },
    /// Nobody can tell.
    Indeterminate,
    /// It happened.
    Applied {
        /// What came back; empty where a person said so without more.
        result: Arc<str>,
    },
    /// It did not happen and may be performed again.
    NotApplied,
    /// It is left out.
    Skipped,
}

impl MutationState {
    /// Whether it may have happened without us knowing.
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

/// Within what a key is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occurrence {
    /// One task, or one firing of a job, with all its retries and repairs.
    Firing(TaskId, u32),
    /// One attempt at a task: what it brings onto a branch is its own.
    Attempt(TaskId, u32),
    /// The project.
    Project,
}

/// One irreversible action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutation {
    /// Its id.
    pub id: MutationId,
    /// The run that performs it.
    pub run: RunId,
    /// The task it belongs to.
    pub task: TaskId,
    /// Within what its key is unique.
    pub occurrence: Occurrence,
    /// What it is.
    pub spec: Arc<MutationSpec>,
    /// Where it stands.
    pub state: MutationState,
    /// By when it was last sent: a call that was decided may have been made a good deal later.
    pub sent_at: Time,
    /// When the call that is looked up was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_at: Option<Time>,
    /// What came back from that call, where it is not known whether it got through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_back: Option<Arc<str>>,
    /// How often it was looked up in vain.
    pub probes: u32,
    /// When it was last looked up: what appeared after that was not seen.
    pub probed_at: Time,
    /// What the latest look-up said, where it could not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_said: Option<Arc<str>>,
}

impl Mutation {
    /// What a person needs to know to say whether it happened.
    pub fn facts(&self) -> ActionFacts {
        ActionFacts {
            key: self.spec.key.clone(),
            call: self.spec.shown(),
            sent_at: self.called_at.unwrap_or(self.sent_at),
            came_back: self.came_back.clone(),
            probe: self.spec.shown_probe(),
            probe_said: self.probe_said.clone(),
            probed_at: (self.probes > 0).then_some(self.probed_at),
            look_at: self.spec.look_at(),
        }
    }
}

/// All actions that still matter: those of living tasks and firings, and permanent ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ledger {
    /// The actions.
    pub(super) mutations: Table<MutationId, Mutation>,
    /// Where a key leads that holds for the whole project.
    pub(super) permanent: BTreeMap<Arc<str>, MutationId>,
    /// Actions whose record was lost, by their keys, and by when they were sent: they may have
    /// happened.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) doubted: BTreeMap<Arc<str>, Time>,
}

/// An action that may have happened, and of which no more is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoubtedAction {
    /// Its key.
    pub key: Arc<str>,
    /// By when it was sent.
    pub at: Time,
}

impl Ledger {
    /// The action with this key, within the task's occurrence or the project.
    pub(super) fn find(&self, task: &Task, spec: &MutationSpec) -> Option<&Mutation> {
        self.find_key(task, spec.permanent, &spec.key)
    }

    pub(super) fn find_key(&self, task: &Task, permanent: bool, key: &str) -> Option<&Mutation> {
        if permanent {
            return self.mutations.get(self.permanent.get(key)?);
        }
        // A task has a handful of actions: looking at each is the fastest way.
        let known = task.ledger.iter().filter_map(|id| self.mutations.get(id));
        known
            .into_iter()
            .find(|known| known.spec.key == key && known.occurrence == task.occurrence(&known.spec))
    }
}
