//! Runs: one attempt at a task each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{BuildId, EffectId, RunId, TaskId};
use crate::attempt::SeenErrors;
use crate::fault::{Fault, RunFailure};
use crate::policy::Amount;

/// The progress of a run. Phases only move forward.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// No change has left the workspace.
    #[default]
    Preparing,
    /// The work is checked and committed.
    Prepared,
    /// Irreversible actions are being performed.
    Mutating,
    /// All irreversible actions are settled.
    Mutated,
    /// The result is final and being reported.
    Emitting,
    /// The run is over.
    Committed,
}

/// The status of a run: active, or the reason why it is paused or failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Status {
    /// The run is at work.
    #[default]
    #[serde(rename = "active")]
    Active,
    /// Paused; continues by itself.
    #[serde(rename = "paused:transient")]
    PausedTransient,
    /// Paused until the operator has acted.
    #[serde(rename = "paused:approval")]
    PausedApproval,
    /// Paused until the outcome of an action is known.
    #[serde(rename = "paused:reconciliation")]
    PausedReconciliation,
    /// Paused by the operator.
    #[serde(rename = "paused:user")]
    PausedUser,
    /// Failed; another approach follows.
    #[serde(rename = "failed:logic")]
    FailedLogic,
    /// Failed, because its settings cannot work.
    #[serde(rename = "failed:config")]
    FailedConfig,
    /// Failed because of an internal error of Unstuck.
    #[serde(rename = "failed:internal")]
    FailedInternal,
}

impl Status {
    /// Returns whether the run can continue under its own id.
    pub const fn is_paused(self) -> bool {
        match self {
            Self::PausedTransient
            | Self::PausedApproval
            | Self::PausedReconciliation
            | Self::PausedUser => true,
            Self::Active | Self::FailedLogic | Self::FailedConfig | Self::FailedInternal => false,
        }
    }
}

impl From<RunFailure> for Status {
    fn from(failure: RunFailure) -> Self {
        match failure {
            RunFailure::PausedTransient => Self::PausedTransient,
            RunFailure::PausedApproval => Self::PausedApproval,
            RunFailure::FailedLogic => Self::FailedLogic,
            RunFailure::FailedConfig => Self::FailedConfig,
            RunFailure::FailedInternal => Self::FailedInternal,
        }
    }
}

/// The current step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The agent works.
    Attempt {
        /// The worktree and conversation that the agent starts with.
        start: Start,
    },
    /// The run is queued while another run of the build is being checked and merged.
    AwaitMerge,
    /// Scope and validation are checked on the build's head.
    Check,
    /// The work is committed.
    Commit,
    /// The irreversible actions are performed, in order.
    Mutate {
        /// Index of the current action, from 0.
        at: u32,
    },
    /// The run is finished: its result is final, and its worktree can be removed.
    Emit,
    /// An agent repairs the job's script.
    Repair {
        /// True if the change is only proposed, not used.
        propose: bool,
    },
    /// The job's script runs.
    Execute,
    /// Changes that the operator did not allow are reverted.
    TakeBack,
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

/// An operation that is repeated when it fails for a transient reason. Each has its own counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The agent's work.
    Attempt,
    /// The checks.
    Check,
    /// The commit.
    Commit,
    /// An irreversible action.
    Mutate,
    /// The final step.
    Emit,
    /// The repair of a script.
    Repair,
    /// The execution of a script.
    Execute,
    /// The revert of changes that were not allowed.
    TakeBack,
    /// A command that the agent runs itself.
    Tool,
}

impl Operation {
    /// Number of operations.
    pub const COUNT: usize = 9;
}

impl Step {
    /// Returns the operation that is repeated when the step fails for a transient reason.
    pub const fn operation(self) -> Operation {
        match self {
            Self::Attempt { .. } => Operation::Attempt,
            Self::AwaitMerge | Self::Check => Operation::Check,
            Self::Commit => Operation::Commit,
            Self::Mutate { .. } => Operation::Mutate,
            Self::Emit => Operation::Emit,
            Self::Repair { .. } => Operation::Repair,
            Self::Execute => Operation::Execute,
            Self::TakeBack => Operation::TakeBack,
        }
    }

    /// Returns whether the step can be interrupted and resumed without harm.
    pub const fn can_be_interrupted(self) -> bool {
        match self {
            Self::Attempt { .. } | Self::Repair { .. } | Self::AwaitMerge => true,
            Self::Check
            | Self::Commit
            | Self::Mutate { .. }
            | Self::Emit
            | Self::Execute
            | Self::TakeBack => false,
        }
    }

    /// Returns whether an agent or script begins from the start, not where another run stopped, so
    /// that it knows nothing of what was said before.
    pub const fn begins_anew(self) -> bool {
        match self {
            Self::Attempt { start } => !matches!(start, Start::Resume | Start::Compacted),
            Self::Execute => true,
            Self::AwaitMerge
            | Self::Check
            | Self::Commit
            | Self::Mutate { .. }
            | Self::Emit
            | Self::Repair { .. }
            | Self::TakeBack => false,
        }
    }

    /// Returns whether the step needs the account behind the task's gate.
    pub const fn needs_gate(self) -> bool {
        match self {
            Self::Attempt { .. } | Self::Repair { .. } => true,
            Self::AwaitMerge
            | Self::Check
            | Self::Commit
            | Self::Mutate { .. }
            | Self::Emit
            | Self::Execute
            | Self::TakeBack => false,
        }
    }
}

/// The place where a task's next run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Next {
    /// The phase that the run begins in.
    pub phase: Phase,
    /// The step that the run begins with.
    #[serde(flatten)]
    pub step: Step,
}

impl Next {
    /// Returns the start of an agent with the worktree and conversation that `start` says.
    pub const fn at_attempt(start: Start) -> Self {
        Self { phase: Phase::Preparing, step: Step::Attempt { start } }
    }

    /// The start of a script.
    pub const EXECUTE: Self = Self { phase: Phase::Preparing, step: Step::Execute };

    /// Returns the same place for a resumed run: an agent finds its worktree and conversation.
    #[must_use]
    pub const fn to_resumed(self) -> Self {
        let step = match self.step {
            // A run that was queued for the merge lock lost its place when it was paused.
            Step::AwaitMerge => Step::Check,
            // Actions are walked from the first one: the ledger knows which are settled.
            Step::Mutate { .. } => Step::Mutate { at: 0 },
            Step::Attempt { .. } => Step::Attempt { start: Start::Resume },
            // A script runs from the top; keys already applied answer from the ledger.
            Step::Execute => return Self::EXECUTE,
            step => step,
        };
        Self { phase: self.phase, step }
    }
}

/// A run that is active or can continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The run's id.
    pub id: RunId,
    /// The task that the run belongs to.
    pub task: TaskId,
    /// The build that the task belongs to.
    pub build: BuildId,
    /// The phase that the run has reached.
    pub phase: Phase,
    /// The status: active, or the reason for a pause.
    pub status: Status,
    /// The current step.
    pub step: Step,
    /// The effect that the run waits for.
    pub owes: Option<EffectId>,
    /// Number of the agent's rounds so far.
    pub iterations: u32,
    /// Number of the agent's tool calls so far.
    pub tool_calls: u32,
    /// Maximum cost of the next calls.
    pub reserved: Amount,
    /// Errors that its commands have shown, with the tree that they came from.
    pub seen: SeenErrors,
    /// The fault that its script names as the cause of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blamed: Option<Arc<Fault>>,
}

impl Run {
    /// Returns where another run would have to begin to do the work of this one.
    pub const fn position(&self) -> Next {
        Next { phase: self.phase, step: self.step }
    }
}
