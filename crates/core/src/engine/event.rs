//! Events: the record of what happened, in order. They are the journal.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checked::{Checked, RedCheck};
use super::command::Wish;
use super::ids::{BuildId, EffectId, MutationId, QuestionId, RunId, TaskId};
use super::ledger::DoubtedAction;
use super::question::{Question, QuestionEnd, Subject};
use super::run::{Next, Phase, Status, Step};
use super::task::{Allowance, Guidance, SkipReason};
use super::why::Why;
use crate::attempt::{Approach, Digest, ToolKind};
use crate::fault::{Code, Fault};
use crate::plan::{GateKey, MutationSpec, Plan, Request, TaskSpec};
use crate::policy::Amount;
use crate::question::Decision;
use crate::signature::Signature;
use crate::time::Time;

/// An event with its position in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedEvent {
    /// Position in the project's journal, without gaps.
    pub seq: u64,
    /// Time of the event.
    pub at: Time,
    /// The reason for the event, if it was a decision.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<Why>,
    /// The event itself.
    #[serde(flatten)]
    pub event: Event,
}

/// The reason why a build is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// The operator asked for it.
    Person,
    /// Too many questions are open.
    Questions,
    /// The budget is spent.
    Budget,
}

/// A limit that the operator raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "limit", rename_all = "snake_case")]
pub enum Raised {
    /// The number of open questions of a build.
    Questions {
        /// The build.
        build: BuildId,
        /// Number of additional questions.
        more: u32,
    },
    /// The budget of a build.
    Build {
        /// The build.
        build: BuildId,
        /// The additional amount.
        more: Amount,
    },
    /// The budget of a day, for one build.
    Day {
        /// The build for which it is raised.
        build: BuildId,
        /// The day for which it is raised.
        day: u64,
        /// The additional amount.
        more: Amount,
    },
    /// The budget of a task.
    Task {
        /// The task.
        task: TaskId,
        /// The additional amount.
        more: Amount,
    },
}

/// An event of the project's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are the ids and facts their types name")]
pub enum Event {
    /// A build started.
    #[serde(rename = "build.started")]
    BuildStarted { build: BuildId, plan: Arc<Plan>, slots: u32, in_place: bool },
    /// All remaining work of a build waits for the operator.
    #[serde(rename = "build.waiting")]
    BuildWaiting { build: BuildId },
    /// A build continues.
    #[serde(rename = "build.resumed")]
    BuildResumed { build: BuildId },
    /// A build completed.
    #[serde(rename = "build.completed")]
    BuildCompleted { build: BuildId },
    /// A build failed, because it cannot continue at all.
    #[serde(rename = "build.failed")]
    BuildFailed { build: BuildId, fault: Arc<Fault> },
    /// The operator ended a build.
    #[serde(rename = "build.cancelled")]
    BuildCancelled { build: BuildId },
    /// A build was paused.
    #[serde(rename = "agent.build_paused")]
    BuildPaused { build: BuildId, cause: PauseCause, open_questions: u32 },
    /// A build sleeps until the next budget window.
    #[serde(rename = "agent.sleeping")]
    Sleeping {
        build: BuildId,
        until: Time,
        /// The exhausted budget. Journals of early versions do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Arc<Fault>>,
    },
    /// A sleeping build woke up.
    #[serde(rename = "agent.waking")]
    Waking { build: BuildId },

    /// The checks were run on the commit that a build starts from, and these are red.
    #[serde(rename = "build.base_checked")]
    BaseChecked { build: BuildId, run: RunId, red: Vec<RedCheck> },
    /// The operator judged whether the red checks of the base belong to the work of a build.
    #[serde(rename = "build.base_judged")]
    BaseJudged { build: BuildId, belongs: bool },

    /// A job was defined, or its definition was changed.
    #[serde(rename = "job.defined")]
    JobDefined { task: TaskId, spec: Arc<TaskSpec> },
    /// A job was fired.
    #[serde(rename = "job.fired")]
    JobFired { task: TaskId },
    /// A job was put on hold: its scheduled firings are skipped.
    #[serde(rename = "job.held")]
    JobHeld { task: TaskId },
    /// A held job was released: it runs at its scheduled times again.
    #[serde(rename = "job.released")]
    JobReleased { task: TaskId },
    /// A job that is still running will be fired again when it is done.
    #[serde(rename = "job.fire_later")]
    JobFireLater { task: TaskId },

    /// A firing of a job gave up over a transient failure; the next firing tries again.
    #[serde(rename = "job.missed")]
    JobMissed { task: TaskId, code: Code },

    /// An external runtime reported on its session.
    #[serde(rename = "session.reported")]
    Reported { task: TaskId, request: Request },

    /// A task backs off, until a time or at a gate.
    #[serde(rename = "task.backing_off")]
    TaskBackingOff {
        task: TaskId,
        until: Option<Time>,
        gate: Option<GateKey>,
        run: Option<RunId>,
        next: Next,
    },
    /// A task waits until the outcome of one of its actions is known.
    #[serde(rename = "task.reconciling")]
    TaskReconciling { task: TaskId, run: RunId, fault: Option<Arc<Fault>>, next: Next },
    /// A task is done.
    #[serde(rename = "task.done")]
    TaskDone {
        task: TaskId,
        /// The agent's explanation why no change was needed, if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unchanged: Option<Arc<str>>,
    },
    /// A task failed permanently.
    #[serde(rename = "task.failed")]
    TaskFailed { task: TaskId, code: Code },
    /// A task was skipped.
    #[serde(rename = "task.skipped")]
    TaskSkipped { task: TaskId, left: SkipReason },
    /// A task was cancelled.
    #[serde(rename = "task.cancelled")]
    TaskCancelled { task: TaskId },
    /// A task was parked until the operator answers a question.
    #[serde(rename = "task.parked")]
    TaskParked {
        task: TaskId,
        question: QuestionId,
        run: Option<RunId>,
        next: Next,
        /// The code of the fault that the question is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
    /// A parked task can continue.
    #[serde(rename = "task.unparked")]
    TaskUnparked {
        task: TaskId,
        next: Next,
        guidance: Option<Arc<Guidance>>,
        allowance: Option<Allowance>,
        /// True if the task's counters start over.
        fresh: bool,
    },
    /// A task is ready for its next run.
    #[serde(rename = "task.ready")]
    TaskReady { task: TaskId, run: Option<RunId>, next: Next },
    /// A task that had ended is to be run after all.
    #[serde(rename = "task.revived")]
    TaskRevived { task: TaskId },

    /// A run started.
    #[serde(rename = "run.started")]
    RunStarted { run: RunId, task: TaskId, retry_of: Option<RunId>, next: Next },
    /// A run took its next step.
    #[serde(rename = "run.step")]
    RunStep { run: RunId, step: Step },
    /// A run's step succeeded.
    #[serde(rename = "run.step_done")]
    StepDone { run: RunId },
    /// A run reached a phase.
    #[serde(rename = "run.phase")]
    RunPhase { run: RunId, phase: Phase },
    /// A run was paused and can continue under the same id.
    #[serde(rename = "run.paused")]
    RunPaused {
        run: RunId,
        status: Status,
        step: Step,
        stop: Option<EffectId>,
        /// The code of the fault that paused the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
    /// A run continues.
    #[serde(rename = "run.resumed")]
    RunResumed { run: RunId, step: Step },
    /// A run ended without success; its successor has another id.
    #[serde(rename = "run.failed")]
    RunFailed {
        run: RunId,
        status: Status,
        stop: Option<EffectId>,
        /// The code of the fault that ended the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
    /// A run succeeded.
    #[serde(rename = "run.committed")]
    RunCommitted { run: RunId },
    /// The process of a run was gone when Unstuck started again.
    #[serde(rename = "run.crashed")]
    RunCrashed {
        run: RunId,
        /// True if Unstuck had ended the run itself.
        #[serde(default)]
        clean: bool,
    },
    /// A run was cancelled, because its task was skipped or its build ended.
    #[serde(rename = "run.cancelled")]
    RunCancelled { run: RunId, stop: Option<EffectId> },
    /// A running attempt made progress.
    #[serde(rename = "run.progress")]
    RunProgress {
        run: RunId,
        iterations: u32,
        tool_calls: u32,
        validated: bool,
        /// True if no command of the agent was running.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        idle: bool,
    },
    /// A run met a fault. Applying this event charges the counters.
    #[serde(rename = "run.fault")]
    FaultMet {
        task: TaskId,
        run: RunId,
        fault: Arc<Fault>,
        approach: Option<Arc<Approach>>,
        /// True if the fault ended the step that the run was at.
        ends: bool,
        /// True if the policy waits the fault out, so that it counts as transient.
        passing: bool,
    },
    /// A command of the agent failed, which is not a fault yet.
    #[serde(rename = "run.observed")]
    Observed { run: RunId, signature: Signature, tree: Option<Digest> },
    /// A script named the fault that it fails with.
    #[serde(rename = "run.blamed")]
    Blamed { run: RunId, fault: Arc<Fault> },
    /// The result of the agent's command is held back until a time before it is reported to the
    /// agent.
    #[serde(rename = "run.tool_waiting")]
    ToolWaiting { run: RunId, code: Code, until: Time },
    /// The work continues without something that failed.
    #[serde(rename = "run.warned")]
    Warned { task: TaskId, run: RunId, code: Code },
    /// An attempt ended; the approach says what it did.
    #[serde(rename = "run.approach")]
    ApproachTaken { run: RunId, approach: Arc<Approach>, confirms: Option<Signature> },
    /// The checks of a gate were run on the work of an attempt.
    #[serde(rename = "run.checked")]
    Checked { run: RunId, checked: Arc<Checked> },
    /// The agent ended without a change and is asked to do the work or to explain why none is
    /// needed.
    #[serde(rename = "run.nudged")]
    Nudged { run: RunId },
    /// The agent declared an action for after the checks.
    #[serde(rename = "run.declared")]
    Declared {
        run: RunId,
        mutation: Arc<MutationSpec>,
        /// The earlier outcome of the action, if its key was already used for it in this project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Reconciled>,
    },

    /// The agent began a round of thinking.
    #[serde(rename = "agent.thinking")]
    Thinking { run: RunId },
    /// The agent called a tool.
    #[serde(rename = "agent.tool.called")]
    ToolCalled {
        run: RunId,
        tool: ToolKind,
        label: Arc<str>,
        /// The commands that were running from then on, including this one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        running: Vec<Arc<str>>,
    },
    /// The agent was denied an action.
    #[serde(rename = "agent.refused")]
    Refused { run: RunId, what: Arc<str>, why: Arc<str> },
    /// The agent addressed people.
    #[serde(rename = "agent.narrated")]
    Narrated { run: RunId, text: Arc<str> },
    /// Unstuck made a remark about a run.
    #[serde(rename = "run.remarked")]
    Remarked { run: RunId, text: Arc<str> },

    /// A task tries another approach to an error.
    #[serde(rename = "agent.retrying")]
    Retrying {
        task: TaskId,
        run: RunId,
        signature: Signature,
        attempt: u32,
        code: Code,
        /// Number of the approach that follows; 0 in journals of versions that did not record it.
        #[serde(default)]
        approach: u32,
        /// Number of tries of the error; a try beyond them is the last one.
        #[serde(default)]
        of: u32,
    },
    /// A task got past these errors, so the tries that it had charged to them are given back.
    #[serde(rename = "signature.recovered")]
    Recovered { task: TaskId, signatures: Vec<Signature> },
    /// The tries of one error, or of all errors, were reset.
    #[serde(rename = "signature.forgotten")]
    Forgotten { signature: Option<Signature> },

    /// A part of the journal was lost, and the operator continued without it: all that is known of
    /// the actions since then is that they may have happened.
    #[serde(rename = "journal.loss_accepted")]
    LossAccepted {
        /// Position of the last event that is left.
        kept: u64,
        /// Position that the journal had reached, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        had: Option<u64>,
        /// The actions that may have happened.
        actions: Vec<DoubtedAction>,
    },

    /// A person gave the command that was just decided.
    #[serde(rename = "control.ordered")]
    Ordered {
        by: Arc<str>,
        wish: Wish,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        build: Option<BuildId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Request>,
    },

    /// The operator is asked a question.
    #[serde(rename = "agent.waiting_for_input")]
    QuestionAsked { question: Box<Question> },
    /// A task waits for the answer to a question that is already open.
    #[serde(rename = "question.joined")]
    QuestionJoined { question: QuestionId, task: TaskId },
    /// The operator answered a question.
    #[serde(rename = "agent.escalation_resolved")]
    QuestionResolved {
        question: QuestionId,
        subject: Subject,
        decision: Decision,
        end: QuestionEnd,
        guidance: Option<Arc<str>>,
        by: Arc<str>,
    },
    /// A question was withdrawn, because its answer is no longer needed.
    #[serde(rename = "question.withdrawn")]
    QuestionWithdrawn { question: QuestionId },

    /// An action is about to be performed.
    #[serde(rename = "mutation.intended")]
    MutationIntended { mutation: MutationId, run: RunId, spec: Arc<MutationSpec> },
    /// An action is being performed.
    #[serde(rename = "mutation.in_flight")]
    MutationInFlight { mutation: MutationId, run: RunId },
    /// A probe looks up whether an action happened.
    #[serde(rename = "mutation.probing")]
    MutationProbing {
        mutation: MutationId,
        /// Time at which the call was decided, if this is the first probe after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        called_at: Option<Time>,
        /// Output of the call or probe that led here, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
    },
    /// An action may still appear; it is probed again later.
    #[serde(rename = "mutation.settling")]
    MutationSettling {
        mutation: MutationId,
        until: Time,
        /// Output of the call or probe that led here, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
    },
    /// An action happened.
    #[serde(rename = "mutation.applied")]
    MutationApplied { mutation: MutationId, result: Arc<str> },
    /// An action did not happen.
    #[serde(rename = "mutation.failed")]
    MutationFailed { mutation: MutationId },
    /// The outcome of an action cannot be determined.
    #[serde(rename = "mutation.indeterminate")]
    MutationIndeterminate {
        mutation: MutationId,
        /// Output of the call or probe that led here, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
    },
    /// The outcome of an action was settled by the operator, a probe or a rule.
    #[serde(rename = "mutation.reconciled")]
    MutationReconciled { mutation: MutationId, to: Reconciled, result: Arc<str> },

    /// All work on an account waits.
    #[serde(rename = "gate.waiting")]
    GateWaiting {
        gate: GateKey,
        until: Time,
        code: Code,
        /// True if the window's reset time has passed by the local clock, so that there is no
        /// window to wait for.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        passed: bool,
    },
    /// A single task probes the account.
    #[serde(rename = "gate.probing")]
    GateProbing { gate: GateKey, task: TaskId },
    /// The account works again. If `untried`, no answer has shown that it works: the task that was
    /// to probe it waits for something else meanwhile.
    #[serde(rename = "gate.passing")]
    GatePassing {
        gate: GateKey,
        release_at: Option<Time>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untried: bool,
    },
    /// A group of the waiting tasks may continue.
    #[serde(rename = "gate.released")]
    GateReleased { gate: GateKey, group: u32, next_at: Option<Time> },
    /// The wait at a gate took too long; the waiting tasks ask the operator.
    #[serde(rename = "gate.given_up")]
    GateGivenUp { gate: GateKey },

    /// Money, tokens or time were reserved or spent.
    #[serde(rename = "agent.budget_updated")]
    BudgetUpdated {
        task: TaskId,
        run: RunId,
        spent: Amount,
        reserved: Amount,
        day: u64,
        wind_down: bool,
    },
    /// The operator raised a limit.
    #[serde(rename = "limit.raised")]
    LimitRaised { raised: Raised },
}

/// The settled outcome of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reconciled {
    /// The action happened.
    Applied,
    /// The action did not happen and may be performed.
    NotApplied,
    /// The action is skipped.
    Skipped,
}
