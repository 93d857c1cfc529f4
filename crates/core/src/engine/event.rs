//! Events: what happened, in the order it happened. They are the journal.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checked::{Checked, RedCheck};
use super::ids::{BuildId, EffectId, MutationId, QuestionId, RunId, TaskId};
use super::ledger::DoubtedAction;
use super::question::{Question, QuestionEnd, Subject};
use super::run::{Next, Phase, Status, Step};
use super::task::{Allowance, Guidance, Left};
use super::why::Why;
use super::wish::Wish;
use crate::attempt::{Approach, Digest, ToolKind};
use crate::fault::{Code, Fault};
use crate::plan::{GateKey, MutationSpec, Plan, Request, TaskSpec};
use crate::policy::Amount;
use crate::question::Decision;
use crate::signature::Signature;
use crate::time::Time;

/// An event with its place in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its position in the project's journal, without gaps.
    pub seq: u64,
    /// When it happened.
    pub at: Time,
    /// Why it was decided, where it was a decision.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<Why>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Why a build stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// A person asked for it.
    Person,
    /// Too many questions are open.
    Questions,
    /// Its budget is spent.
    Budget,
}

/// A limit that a person raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "limit", rename_all = "snake_case")]
pub enum Raised {
    /// A build may have this many more open questions.
    Questions {
        /// Which build.
        build: BuildId,
        /// How many more.
        more: u32,
    },
    /// A build may spend this much more.
    Build {
        /// Which build.
        build: BuildId,
        /// How much more.
        more: Amount,
    },
    /// A task may spend this much more.
    Task {
        /// Which task.
        task: TaskId,
        /// How much more.
        more: Amount,
    },
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data")]
#[expect(missing_docs, reason = "the fields are the ids and facts their types name")]
pub enum Event {
    /// A build began.
    #[serde(rename = "build.started")]
    BuildStarted { build: BuildId, plan: Arc<Plan>, slots: u32, in_place: bool },
    /// All that is left of a build waits for a person.
    #[serde(rename = "build.waiting")]
    BuildWaiting { build: BuildId },
    /// A build goes on.
    #[serde(rename = "build.resumed")]
    BuildResumed { build: BuildId },
    /// A build came to its end.
    #[serde(rename = "build.completed")]
    BuildCompleted { build: BuildId },
    /// A build cannot go on at all.
    #[serde(rename = "build.failed")]
    BuildFailed { build: BuildId, fault: Arc<Fault> },
    /// A person ended a build.
    #[serde(rename = "build.cancelled")]
    BuildCancelled { build: BuildId },
    /// A build stands still.
    #[serde(rename = "agent.build_paused")]
    BuildPaused { build: BuildId, cause: PauseCause, open_questions: u32 },
    /// A build sleeps until its next budget window.
    #[serde(rename = "agent.sleeping")]
    Sleeping { build: BuildId, until: Time },
    /// A build woke up.
    #[serde(rename = "agent.waking")]
    Waking { build: BuildId },

    /// The checks were run on the commit that a build starts from, and these are red.
    #[serde(rename = "build.base_checked")]
    BaseChecked { build: BuildId, run: RunId, red: Vec<RedCheck> },
    /// A person said whether what is red at the base belongs to the work of a build.
    #[serde(rename = "build.base_judged")]
    BaseJudged { build: BuildId, belongs: bool },

    /// A script was taken into care.
    #[serde(rename = "job.defined")]
    JobDefined { task: TaskId, spec: Arc<TaskSpec> },
    /// A job was started once more.
    #[serde(rename = "job.fired")]
    JobFired { task: TaskId },
    /// A job is left alone when its time comes.
    #[serde(rename = "job.held")]
    JobHeld { task: TaskId },
    /// A job runs again when its time comes.
    #[serde(rename = "job.released")]
    JobReleased { task: TaskId },
    /// A job that still runs will be started again when it is done.
    #[serde(rename = "job.fire_later")]
    JobFireLater { task: TaskId },

    /// A firing of a job gives up over something that passes by itself: the next one tries.
    #[serde(rename = "job.missed")]
    JobMissed { task: TaskId, code: Code },

    /// A runtime elsewhere reported on its session.
    #[serde(rename = "session.reported")]
    Reported { task: TaskId, request: Request },

    /// A task waits, until a time or at a gate.
    #[serde(rename = "task.backing_off")]
    TaskBackingOff {
        task: TaskId,
        until: Option<Time>,
        gate: Option<GateKey>,
        run: Option<RunId>,
        next: Next,
    },
    /// The outcome of an action of the task has to be found out first.
    #[serde(rename = "task.reconciling")]
    TaskReconciling { task: TaskId, run: RunId, fault: Option<Arc<Fault>>, next: Next },
    /// A task is done.
    #[serde(rename = "task.done")]
    TaskDone {
        task: TaskId,
        /// Why nothing had to be changed, in the agent's words, where nothing was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unchanged: Option<Arc<str>>,
    },
    /// A task failed for good.
    #[serde(rename = "task.failed")]
    TaskFailed { task: TaskId, code: Code },
    /// A task was left out.
    #[serde(rename = "task.skipped")]
    TaskSkipped { task: TaskId, left: Left },
    /// A task was cancelled.
    #[serde(rename = "task.cancelled")]
    TaskCancelled { task: TaskId },
    /// A task waits for a person.
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
    /// A task that waited for a person can go on.
    #[serde(rename = "task.unparked")]
    TaskUnparked {
        task: TaskId,
        next: Next,
        guidance: Option<Arc<Guidance>>,
        allowance: Option<Allowance>,
        /// Its counters start over.
        fresh: bool,
    },
    /// A task is ready for its next run.
    #[serde(rename = "task.ready")]
    TaskReady { task: TaskId, run: Option<RunId>, next: Next },
    /// A task that had ended is to be done after all.
    #[serde(rename = "task.revived")]
    TaskRevived { task: TaskId },

    /// A run began.
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
    /// A run stands still and can go on under the same id.
    #[serde(rename = "run.paused")]
    RunPaused {
        run: RunId,
        status: Status,
        step: Step,
        stop: Option<EffectId>,
        /// The code of the fault that it stands still over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
    /// A run goes on.
    #[serde(rename = "run.resumed")]
    RunResumed { run: RunId, step: Step },
    /// A run ended without success; its successor has another id.
    #[serde(rename = "run.failed")]
    RunFailed {
        run: RunId,
        status: Status,
        stop: Option<EffectId>,
        /// The code of the fault that it ended with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
    /// A run succeeded.
    #[serde(rename = "run.committed")]
    RunCommitted { run: RunId },
    /// A run's process was gone when we came back.
    #[serde(rename = "run.crashed")]
    RunCrashed {
        run: RunId,
        /// We had ended it ourselves.
        #[serde(default)]
        clean: bool,
    },
    /// A run was ended by a person's decision.
    #[serde(rename = "run.cancelled")]
    RunCancelled { run: RunId, stop: Option<EffectId> },
    /// A running attempt got on.
    #[serde(rename = "run.progress")]
    RunProgress { run: RunId, iterations: u32, tool_calls: u32, validated: bool },
    /// A run met a fault. This is where counters move.
    #[serde(rename = "run.fault")]
    FaultMet {
        task: TaskId,
        run: RunId,
        fault: Arc<Fault>,
        approach: Option<Arc<Approach>>,
        /// It ended the step the run was at.
        ends: bool,
        /// The policy has it waited out, so it counts as passing by itself.
        passing: bool,
    },
    /// A command of the agent failed without being a fault yet.
    #[serde(rename = "run.observed")]
    Observed { run: RunId, signature: Signature, tree: Option<Digest> },
    /// A script said what it fails of.
    #[serde(rename = "run.blamed")]
    Blamed { run: RunId, fault: Arc<Fault> },
    /// The agent's command waits before it is reported back.
    #[serde(rename = "run.tool_waiting")]
    ToolWaiting { run: RunId, code: Code, until: Time },
    /// The work goes on without something.
    #[serde(rename = "run.warned")]
    Warned { task: TaskId, run: RunId, code: Code },
    /// An attempt ended, and this is what it did.
    #[serde(rename = "run.approach")]
    ApproachTaken { run: RunId, approach: Arc<Approach>, confirms: Option<Signature> },
    /// The checks of a gate were run on what it did.
    #[serde(rename = "run.checked")]
    Checked { run: RunId, checked: Arc<Checked> },
    /// The agent ended without a change and is asked to do the work or to say why none is needed.
    #[serde(rename = "run.nudged")]
    Nudged { run: RunId },
    /// The agent declared an action for later.
    #[serde(rename = "run.declared")]
    Declared {
        run: RunId,
        mutation: Arc<MutationSpec>,
        /// What became of it before, where its key was used for it in this project already.
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
        /// The commands that ran from then on, this one among them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        running: Vec<Arc<str>>,
    },
    /// The agent was not allowed to do something.
    #[serde(rename = "agent.refused")]
    Refused { run: RunId, what: Arc<str>, why: Arc<str> },
    /// The agent said something.
    #[serde(rename = "agent.narrated")]
    Narrated { run: RunId, text: Arc<str> },
    /// Unstuck says something about a run.
    #[serde(rename = "run.remarked")]
    Remarked { run: RunId, text: Arc<str> },

    /// An error gets another approach.
    #[serde(rename = "agent.retrying")]
    Retrying {
        task: TaskId,
        run: RunId,
        signature: Signature,
        attempt: u32,
        code: Code,
        /// The number of the approach that follows; 0 in journals of versions that did not note it.
        #[serde(default)]
        approach: u32,
        /// Of how many; a greater number is the last one.
        #[serde(default)]
        of: u32,
    },
    /// The tries a task had charged to these errors are given back: it got past them.
    #[serde(rename = "signature.recovered")]
    Recovered { task: TaskId, signatures: Vec<Signature> },
    /// The tries of one error, or of all, were forgotten.
    #[serde(rename = "signature.forgotten")]
    Forgotten { signature: Option<Signature> },

    /// A part of the journal was lost, and a person went on without it: what is known of the actions
    /// since then is that they may have happened.
    #[serde(rename = "journal.loss_accepted")]
    LossAccepted {
        /// The last event that is there.
        kept: u64,
        /// How far the journal had come, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        had: Option<u64>,
        /// The actions.
        actions: Vec<DoubtedAction>,
    },

    /// Somebody wanted what was just decided.
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

    /// A person is asked.
    #[serde(rename = "agent.waiting_for_input")]
    QuestionAsked { question: Box<Question> },
    /// A task waits for the answer to a question that was asked before.
    #[serde(rename = "question.joined")]
    QuestionJoined { question: QuestionId, task: TaskId },
    /// A person answered.
    #[serde(rename = "agent.escalation_resolved")]
    QuestionResolved {
        question: QuestionId,
        subject: Subject,
        decision: Decision,
        end: QuestionEnd,
        guidance: Option<Arc<str>>,
        by: Arc<str>,
    },
    /// Nobody needs the answer any more.
    #[serde(rename = "question.withdrawn")]
    QuestionWithdrawn { question: QuestionId },

    /// An action is about to be performed.
    #[serde(rename = "mutation.intended")]
    MutationIntended { mutation: MutationId, run: RunId, spec: Arc<MutationSpec> },
    /// An action is being performed.
    #[serde(rename = "mutation.in_flight")]
    MutationInFlight { mutation: MutationId, run: RunId },
    /// Whether an action happened is being found out.
    #[serde(rename = "mutation.probing")]
    MutationProbing {
        mutation: MutationId,
        /// When its call was decided, where this is the first look-up after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        called_at: Option<Time>,
        /// What the call or the look-up said that led here, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
    },
    /// An action may still appear; it is looked up again later.
    #[serde(rename = "mutation.settling")]
    MutationSettling {
        mutation: MutationId,
        until: Time,
        /// What the call or the look-up said that led here, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
    },
    /// An action happened.
    #[serde(rename = "mutation.applied")]
    MutationApplied { mutation: MutationId, result: Arc<str> },
    /// An action did not happen.
    #[serde(rename = "mutation.failed")]
    MutationFailed { mutation: MutationId },
    /// Nobody can tell whether an action happened.
    #[serde(rename = "mutation.indeterminate")]
    MutationIndeterminate {
        mutation: MutationId,
        /// What the call or the look-up said that led here, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
    },
    /// A person or a probe said what became of an action.
    #[serde(rename = "mutation.reconciled")]
    MutationReconciled { mutation: MutationId, to: Reconciled, result: Arc<str> },

    /// Everyone on an account waits.
    #[serde(rename = "gate.waiting")]
    GateWaiting {
        gate: GateKey,
        until: Time,
        code: Code,
        /// The time at which the window opens has passed, by our clock: it is no window to wait for.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        passed: bool,
    },
    /// One task tries the account.
    #[serde(rename = "gate.probing")]
    GateProbing { gate: GateKey, task: TaskId },
    /// The account works again. Where it is `untried`, the task that was to try it first waits for
    /// something else meanwhile, and no answer has shown that it works.
    #[serde(rename = "gate.passing")]
    GatePassing {
        gate: GateKey,
        release_at: Option<Time>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untried: bool,
    },
    /// Some of those who waited may go on.
    #[serde(rename = "gate.released")]
    GateReleased { gate: GateKey, group: u32, next_at: Option<Time> },
    /// The wait at a gate took too long; those who waited ask a person.
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
    /// A person raised a limit.
    #[serde(rename = "limit.raised")]
    LimitRaised { raised: Raised },
}

/// What became of an action whose outcome had been unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reconciled {
    /// It happened.
    Applied,
    /// It did not happen and may be performed.
    NotApplied,
    /// It is left out.
    Skipped,
}
