//! Runs: one attempt each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::effect::Start;
use super::ids::{BuildId, EffectId, RunId, TaskId};
use crate::attempt::Seen;
use crate::fault::{Fault, RunFailure};
use crate::policy::Amount;

/// How far a run has come. Phases only move forward.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing has left the workspace.
    #[default]
    Preparing,
    /// Checked and committed.
    Prepared,
    /// Irreversible actions are being performed.
    Mutating,
    /// All of them are settled.
    Mutated,
    /// Everyone is being told.
    Emitting,
    /// Over.
    Committed,
}

/// Why a run stands still, or that it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Status {
    /// At work.
    #[default]
    #[serde(rename = "active")]
    Active,
    /// Goes on by itself.
    #[serde(rename = "paused:transient")]
    PausedTransient,
    /// Goes on when a person has acted.
    #[serde(rename = "paused:approval")]
    PausedApproval,
    /// Goes on when the outcome of an action is known.
    #[serde(rename = "paused:reconciliation")]
    PausedReconciliation,
    /// A person holds it.
    #[serde(rename = "paused:user")]
    PausedUser,
    /// Another approach follows.
    #[serde(rename = "failed:logic")]
    FailedLogic,
    /// Its settings cannot work.
    #[serde(rename = "failed:config")]
    FailedConfig,
    /// Our own fault.
    #[serde(rename = "failed:internal")]
    FailedInternal,
}

impl Status {
    /// Whether the run can go on under its own id.
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

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The agent works.
    Attempt {
        /// What it finds.
        start: Start,
    },
    /// Another run of the build is being checked and merged; this one is next in line.
    AwaitMerge,
    /// Scope and validation on the build's head.
    Check,
    /// The commit.
    Commit,
    /// The irreversible actions, in order.
    Mutate {
        /// Which one, counted from 0.
        at: u32,
    },
    /// Everyone is told.
    Emit,
    /// An agent repairs the job's script.
    Repair {
        /// The change is proposed, not used.
        propose: bool,
    },
    /// The job's script runs.
    Execute,
    /// What a person did not allow is taken back.
    TakeBack,
}

/// What repeats when it fails for a passing reason. Each has its own counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The agent's work.
    Attempt,
    /// The checks.
    Check,
    /// The commit.
    Commit,
    /// An action.
    Mutate,
    /// Telling everyone.
    Emit,
    /// A repair.
    Repair,
    /// A script.
    Execute,
    /// Taking back.
    TakeBack,
    /// A command of the agent's own.
    Tool,
}

impl Operation {
    /// How many operations there are.
    pub const COUNT: usize = 9;
}

impl Step {
    /// The operation that is repeated when the step fails for a passing reason.
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

    /// Whether it can be stopped half-way and taken up again without harm.
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

    /// Whether an agent or script begins from the start, not where another run stopped: whoever takes
    /// this step knows nothing of what was said before.
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

    /// Whether it needs the account behind the task's gate.
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

/// Where a task's next run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Next {
    /// The phase it begins in.
    pub phase: Phase,
    /// The step it begins with.
    #[serde(flatten)]
    pub step: Step,
}

impl Next {
    /// The agent begins, finding what `start` says.
    pub const fn attempt(start: Start) -> Self {
        Self { phase: Phase::Preparing, step: Step::Attempt { start } }
    }

    /// The script begins.
    pub const EXECUTE: Self = Self { phase: Phase::Preparing, step: Step::Execute };

    /// The same place, taken up again: an agent finds its worktree and conversation.
    #[must_use]
    pub const fn resumed(self) -> Self {
        let step = match self.step {
            // A run that was in line for the merge lock lost its place when it stood still.
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

/// A run that is at work or can go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The task it belongs to.
    pub task: TaskId,
    /// The build that belongs to.
    pub build: BuildId,
    /// How far it has come.
    pub phase: Phase,
    /// Why it stands still, or that it does not.
    pub status: Status,
    /// What it is doing.
    pub step: Step,
    /// What the outside owes it.
    pub owes: Option<EffectId>,
    /// Rounds of the agent so far.
    pub iterations: u32,
    /// Tools it called so far.
    pub tool_calls: u32,
    /// What its next calls may cost.
    pub reserved: Amount,
    /// Errors its commands have shown, with the tree they came from.
    pub seen: Seen,
    /// What its script says it fails of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blamed: Option<Arc<Fault>>,
}

impl Run {
    /// Where another run would have to begin to do what this one was doing.
    pub const fn place(&self) -> Next {
        Next { phase: self.phase, step: self.step }
    }
}
