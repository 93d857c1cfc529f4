//! Commands: all requests that the engine accepts. The journal records those of people as wishes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{BuildId, EffectId, QuestionId, TaskId};
use super::report::{EffectOutcome, ProgressReport, RunNote, SessionReport};
use crate::attempt::Digest;
use crate::fault::Fault;
use crate::plan::{GateKey, MutationSpec, Plan, Request, TaskSpec};
use crate::policy::Amount;
use crate::question::Decision;
use crate::signature::Signature;

/// A request to the engine. Results of effects are commands too: they name the effect that they
/// answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Start a build of a plan.
    StartBuild {
        /// The tasks and what they need.
        plan: Arc<Plan>,
        /// Maximum number of tasks that run concurrently.
        slots: u32,
        /// True if the work happens in the user's own working tree, which cannot be quarantined.
        in_place: bool,
    },
    /// Define a job, or change its definition from its next firing on.
    DefineJob {
        /// The job's definition.
        spec: Arc<TaskSpec>,
    },
    /// Run a job now, even if it is held.
    FireJob {
        /// The job to run.
        task: TaskId,
    },
    /// A job is due: it runs unless it is held.
    JobDue {
        /// The job that is due.
        task: TaskId,
    },
    /// Skip a job's scheduled firings until it is released.
    HoldJob {
        /// The job to hold.
        task: TaskId,
    },
    /// Run a held job at its scheduled times again.
    ReleaseJob {
        /// The job to release.
        task: TaskId,
    },
    /// The result of an effect.
    Settle {
        /// The effect that ended.
        effect: EffectId,
        /// The outcome of the effect.
        outcome: EffectOutcome,
        /// Cost that was not reported before.
        spent: Amount,
    },
    /// A progress report of a running attempt.
    Progress {
        /// The effect of the attempt.
        effect: EffectId,
        /// The progress since the last report.
        report: ProgressReport,
    },
    /// An observation of a run that people may want to see.
    Note {
        /// The effect that was observed.
        effect: EffectId,
        /// The observation.
        note: RunNote,
    },
    /// A fault inside a running attempt, identified by its detector.
    Raise {
        /// The effect of the attempt.
        effect: EffectId,
        /// The fault that was met.
        fault: Arc<Fault>,
    },
    /// A failed command of the agent whose output the text rules recognized.
    Observe {
        /// The effect of the attempt.
        effect: EffectId,
        /// The fault that the output was classified as.
        fault: Arc<Fault>,
        /// Digest of the worktree at the time of the failure.
        tree: Option<Digest>,
    },
    /// A script's statement of the fault that it fails with. Its end shows whether it really fails.
    Blame {
        /// The effect of the execution.
        effect: EffectId,
        /// The fault that the script names.
        fault: Arc<Fault>,
    },
    /// A request to reserve budget for the next call.
    Reserve {
        /// The effect of the attempt.
        effect: EffectId,
        /// Maximum cost of the call.
        amount: Amount,
    },
    /// A request for an irreversible action: a job's is performed now, a task's after its checks.
    Mutate {
        /// The effect of the attempt or execution that requests it.
        effect: EffectId,
        /// The requested action.
        mutation: MutationSpec,
    },
    /// A report of an external runtime on its work on a session.
    Report {
        /// The session's task.
        task: TaskId,
        /// The content of the report.
        told: SessionReport,
    },
    /// The operator's answer to a question.
    Answer {
        /// The question that is answered.
        question: QuestionId,
        /// The chosen option.
        decision: Decision,
        /// The operator's own words, if any.
        guidance: Option<Arc<str>>,
        /// Name of the person who answered.
        by: Arc<str>,
    },
    /// The operator's judgement whether the red checks of the base belong to the work. It also
    /// answers the question about them, if that is open already.
    JudgeBase {
        /// The build whose base is judged.
        build: BuildId,
        /// True if the red checks belong to the work.
        belongs: bool,
        /// Name of the person who judged.
        #[serde(default)]
        by: Arc<str>,
    },
    /// Probe again whether an action happened.
    CheckAgain {
        /// The open question about the action.
        question: QuestionId,
    },
    /// Hold a build.
    Pause {
        /// The build to hold.
        build: BuildId,
    },
    /// Resume a held or sleeping build.
    Resume {
        /// The build to resume.
        build: BuildId,
    },
    /// End a build.
    Cancel {
        /// The build to end.
        build: BuildId,
    },
    /// Fail a build that cannot continue at all.
    Abort {
        /// The build to fail.
        build: BuildId,
        /// The reason why it cannot continue.
        fault: Arc<Fault>,
    },
    /// End a task's wait early.
    Kick {
        /// The waiting task.
        task: TaskId,
    },
    /// End a gate's wait early.
    KickGate {
        /// The waiting gate.
        gate: GateKey,
    },
    /// Run a task again that ended without success.
    Retry {
        /// The task to run again.
        task: TaskId,
    },
    /// Skip a task.
    Skip {
        /// The task to skip.
        task: TaskId,
    },
    /// Reset the tries of one error, or of all errors.
    Forget {
        /// The error; `None` for all errors.
        signature: Option<Signature>,
    },
    /// A command that a person gives. The person is recorded together with its result.
    By {
        /// The person, and the request that the command came with.
        order: CommandIssuer,
        /// The command itself.
        wants: Box<Command>,
    },
    /// A wake-up call: timers may be due.
    Wake,
    /// The process was started, so all work that was in progress is gone.
    Recover {
        /// The only task to recover; `None` for all tasks.
        task: Option<TaskId>,
        /// True if Unstuck itself had ended the work, so that it does not count as a crash.
        clean: bool,
    },
}

/// The person who gives a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandIssuer {
    /// The person's name.
    pub by: Arc<str>,
    /// The request that the command came with; the same request again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
}

impl CommandIssuer {
    /// Wraps a command as one that this person gives.
    pub fn wrap_command(self, command: Command) -> Command {
        Command::By { order: self, wants: Box::new(command) }
    }
}

/// The kind of command that a person gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// Start a build.
    Start,
    /// Hold a build.
    Pause,
    /// Resume a build.
    Resume,
    /// End a build.
    Cancel,
    /// End a wait early.
    Kick,
    /// Run a task again.
    Retry,
    /// Skip a task.
    Skip,
    /// Run a job now.
    Run,
    /// Hold a job.
    Hold,
    /// Run a held job at its scheduled times again.
    Release,
    /// Probe again whether an action happened.
    CheckAgain,
    /// Reset the tries of errors.
    Forget,
    /// Judge whether the red checks of the base belong to the work.
    JudgeBase,
}

impl Wish {
    /// Returns the wish in words, for a sentence that begins with the person's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "started it",
            Self::Pause | Self::Hold => "paused it",
            Self::Resume => "resumed it",
            Self::Cancel => "cancelled it",
            Self::Kick => "ended the wait",
            Self::Retry => "retried it",
            Self::Skip => "skipped it",
            Self::Run => "started it by hand",
            Self::Release => "let it run on its schedule again",
            Self::CheckAgain => "asked for another check",
            Self::Forget => "reset the retry counters",
            Self::JudgeBase => "said whether the old failure belongs to the work",
        }
    }

    /// Returns the wish behind a command, and the build or task that it is about; `None` for
    /// commands that no person gives.
    pub(super) const fn from_command(
        command: &Command,
    ) -> Option<(Self, Option<BuildId>, Option<TaskId>)> {
        Some(match command {
            Command::StartBuild { .. } => (Self::Start, None, None),
            Command::Pause { build } => (Self::Pause, Some(*build), None),
            Command::Resume { build } => (Self::Resume, Some(*build), None),
            Command::Cancel { build } => (Self::Cancel, Some(*build), None),
            Command::Kick { task } => (Self::Kick, None, Some(*task)),
            Command::KickGate { .. } => (Self::Kick, None, None),
            Command::Retry { task } => (Self::Retry, None, Some(*task)),
            Command::Skip { task } => (Self::Skip, None, Some(*task)),
            Command::FireJob { task } => (Self::Run, None, Some(*task)),
            Command::HoldJob { task } => (Self::Hold, None, Some(*task)),
            Command::ReleaseJob { task } => (Self::Release, None, Some(*task)),
            Command::CheckAgain { .. } => (Self::CheckAgain, None, None),
            Command::Forget { .. } => (Self::Forget, None, None),
            Command::JudgeBase { build, .. } => (Self::JudgeBase, Some(*build), None),
            _ => return None,
        })
    }
}

/// The reason why a command was not carried out. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandRejection {
    /// No run or action waits for this effect: it is unknown, late or settled.
    #[error("effect {0} is not owed by anybody")]
    Stale(EffectId),
    /// The result does not fit the effect.
    #[error("that is no result of effect {0}")]
    Misfit(EffectId),
    /// No build has this id.
    #[error("there is no build {0}")]
    NoBuild(BuildId),
    /// No task has this id.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// No question has this id.
    #[error("there is no question {0}")]
    NoQuestion(QuestionId),
    /// The question was answered before.
    #[error("question {0} has already been answered")]
    Answered(QuestionId),
    /// The question was withdrawn, because its answer is no longer needed.
    #[error("question {0} was withdrawn")]
    Withdrawn(QuestionId),
    /// The question does not offer this choice.
    #[error("question {question} does not offer {decision}")]
    NotAnOption {
        /// The question that was answered.
        question: QuestionId,
        /// The chosen option.
        decision: Decision,
    },
    /// The idempotency key was used for an action with other arguments.
    #[error("the key {0:?} was used for an action with other arguments")]
    KeyReused(String),
    /// A request came again with other content.
    #[error("the request {0:?} was sent before and said something else")]
    RequestReused(String),
    /// The command does not fit the current state.
    #[error("{what} is {state}")]
    NotNow {
        /// The subject of the command.
        what: String,
        /// The state of the subject.
        state: &'static str,
    },
}
