//! Effects: the work that the engine requests from the runner, as data.

use serde::{Deserialize, Serialize};

use super::ids::{EffectId, MutationId, RunId, TaskId};

/// Work that the runner owes. Its result names the id; results with other ids are dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The id that the result names.
    pub id: EffectId,
    /// The task that the effect belongs to.
    pub task: TaskId,
    /// The run that the effect belongs to.
    pub run: RunId,
    /// The work to be done.
    pub what: EffectKind,
}

/// The work to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum EffectKind {
    /// Let the agent work on the task in its worktree.
    Attempt {
        /// The worktree and conversation that the agent starts with.
        start: Start,
    },
    /// Bring the change onto the build's head, then check scope and validation there.
    Check,
    /// Commit what was checked.
    Commit,
    /// Perform an irreversible action.
    Perform {
        /// The action to perform.
        mutation: MutationId,
    },
    /// Probe whether an irreversible action happened.
    Probe {
        /// The action to probe.
        mutation: MutationId,
    },
    /// Finish the run: its result is final, and its worktree can be removed.
    Emit,
    /// Let an agent repair the job's script.
    Repair {
        /// True if the change is only proposed, not used.
        propose: bool,
    },
    /// Run the job's script.
    Execute {
        /// Number of earlier starts of the script in this firing.
        retry: u32,
    },
    /// Revert the changes that the operator did not allow.
    TakeBack,
    /// Stop another effect, because its result is no longer wanted.
    Stop {
        /// The effect to stop.
        effect: EffectId,
    },
}

/// The worktree and conversation that a new attempt starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// A new worktree and a new conversation.
    #[default]
    Fresh,
    /// The same worktree and conversation.
    Resume,
    /// The same worktree and conversation, shortened.
    Compacted,
    /// The same worktree; a new conversation that knows what failed.
    KeepTree,
    /// The worktree reset to its base; the old state is saved, and its summary is in the new
    /// conversation.
    FromBase,
    /// A new worktree from the base; the old one is saved or quarantined.
    NewWorktree,
}
