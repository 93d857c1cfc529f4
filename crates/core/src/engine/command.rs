//! Commands: all requests that the engine accepts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checked::{Checked, RedCheck};
use super::ids::{BuildId, EffectId, QuestionId, TaskId};
use super::wish::CommandIssuer;
use crate::attempt::{Approach, Digest, ToolKind};
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
    /// The operator's judgement, before it is asked for, whether the red checks of the base belong
    /// to the work.
    JudgeBase {
        /// The build whose base is judged.
        build: BuildId,
        /// True if the red checks belong to the work.
        belongs: bool,
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

/// The outcome of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum EffectOutcome {
    /// The agent says that it is done.
    Attempted {
        /// The approach that the agent took.
        approach: Arc<Approach>,
    },
    /// The effect succeeded.
    Done,
    /// An agent has repaired the script.
    Repaired {
        /// The approach of the repair.
        approach: Arc<Approach>,
        /// The branch on which the repair waits for the operator; `None` if the repair is in use.
        branch: Option<Arc<str>>,
    },
    /// The effect failed.
    Failed {
        /// The fault that it failed with.
        fault: Arc<Fault>,
        /// The approach of the attempt, if there was one.
        approach: Option<Arc<Approach>>,
    },
    /// The action happened.
    Applied {
        /// The response, or the place where it is kept.
        result: Arc<str>,
    },
    /// The action certainly did not happen.
    NotApplied,
    /// The action may or may not have happened.
    Unknown {
        /// The fault that left the outcome unknown.
        fault: Arc<Fault>,
    },
    /// The probe could not tell whether the action happened.
    CannotTell {
        /// The output of the probe, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
    },
    /// The build's branch moved before the merge.
    HeadMoved,
}

/// The content of an external runtime's report on its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub enum SessionReport {
    /// The attempt failed. The same request again changes nothing.
    Failed {
        /// The request, by which a repeated report is recognized.
        request: Request,
        /// The fault that the attempt failed with.
        fault: Arc<Fault>,
        /// The approach of the attempt.
        approach: Option<Arc<Approach>>,
    },
    /// The goal is reached.
    Done {
        /// The approach of the attempt.
        approach: Arc<Approach>,
    },
    /// The runtime is about to perform an irreversible action.
    Intends {
        /// The intended action.
        mutation: MutationSpec,
    },
    /// The runtime performed an irreversible action.
    Acted {
        /// The action's idempotency key.
        key: String,
        /// The outcome of the action.
        outcome: EffectOutcome,
    },
}

/// The progress of a running attempt since its last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgressReport {
    /// Number of rounds that the agent completed.
    pub iterations: u32,
    /// Number of tools that the agent called.
    pub tool_calls: u32,
    /// True if the checks passed at the end.
    pub validated: bool,
    /// Cost since the last report.
    pub spent: Amount,
}

impl ProgressReport {
    /// Returns whether the model has answered: with a round, a tool call, or tokens. The start of
    /// an agent is reported as well and says nothing about the account.
    pub const fn shows_answer(&self) -> bool {
        self.iterations > 0
            || self.tool_calls > 0
            || self.validated
            || self.spent.tokens > 0
            || self.spent.money_micros > 0
    }
}

/// Maximum length of a note's text, in characters.
pub const NOTE_CHARS_MAX: usize = 500;

/// An activity of an agent, or an observation about its work. Texts are redacted before they arrive
/// here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum RunNote {
    /// The agent began a round of thinking.
    Thinking,
    /// The agent called a tool.
    ToolCalled {
        /// The purpose of the tool.
        tool: ToolKind,
        /// The call in one short line.
        label: Arc<str>,
        /// The commands that are running now, including this one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        running: Vec<Arc<str>>,
    },
    /// The agent was denied an action.
    Refused {
        /// The action, in one line.
        what: Arc<str>,
        /// The rule or setting that does not allow it.
        why: Arc<str>,
    },
    /// The agent addressed people.
    Narrated {
        /// The agent's words.
        text: Arc<str>,
    },
    /// A remark of the worker about the run, for people.
    Remarked {
        /// The remark, in whole sentences.
        text: Arc<str>,
    },
    /// The result of the checks on the commit that the build starts from.
    BaseChecked {
        /// The red checks.
        red: Vec<RedCheck>,
    },
    /// The results of a gate's checks. The worker that judges the work runs them, never an agent.
    Checked {
        /// The results.
        checked: Checked,
    },
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
