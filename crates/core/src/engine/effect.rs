//! Effects: what the outside must do, as data.

use serde::{Deserialize, Serialize};

use super::ids::{EffectId, MutationId, RunId, TaskId};

/// Something the outside owes. Its result names the id; results with other ids are dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Names it.
    pub id: EffectId,
    /// The task it belongs to.
    pub task: TaskId,
    /// The run it belongs to.
    pub run: RunId,
    /// What is to be done.
    pub what: Work,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Work {
    /// Let the agent work on the task in its worktree.
    Attempt {
        /// What it finds there.
        start: Start,
    },
    /// Bring the change onto the build's head, then check scope and validation there.
    Check,
    /// Commit what was checked.
    Commit,
    /// Perform an irreversible action.
    Perform {
        /// Which one.
        mutation: MutationId,
    },
    /// Find out whether an irreversible action happened.
    Probe {
        /// Which one.
        mutation: MutationId,
    },
    /// Tell everyone who should know.
    Emit,
    /// Let an agent repair the job's script.
    Repair {
        /// Propose the change instead of using it.
        propose: bool,
    },
    /// Run the job's script.
    Execute {
        /// How often this firing was started before.
        retry: u32,
    },
    /// Take back what a person did not allow.
    TakeBack,
    /// End something that was started: its result is no longer wanted.
    Stop {
        /// What was started.
        effect: EffectId,
    },
}

/// What a new attempt finds.
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
    /// The worktree reset to its base; the old one saved, its summary in the new conversation.
    FromBase,
    /// A new worktree from the base; the old one saved or set aside.
    NewWorktree,
}
