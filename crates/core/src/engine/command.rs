//! Commands: everything that can be asked of the engine.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checked::{Checked, RedCheck};
use super::ids::{BuildId, EffectId, QuestionId, TaskId};
use super::wish::Order;
use crate::attempt::{Approach, Digest, ToolKind};
use crate::fault::Fault;
use crate::plan::{GateKey, MutationSpec, Plan, Request, TaskSpec};
use crate::policy::Amount;
use crate::question::Decision;
use crate::signature::Signature;

/// A command. Results of effects are commands too: they name the effect they answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Start a build of a plan.
    StartBuild {
        /// What there is to do.
        plan: Arc<Plan>,
        /// How many tasks may run side by side.
        slots: u32,
        /// The work happens in the user's own tree, which cannot be set aside.
        in_place: bool,
    },
    /// Take a script into care, or care for it differently from its next firing on.
    DefineJob {
        /// The script.
        spec: Arc<TaskSpec>,
    },
    /// Run a job now.
    FireJob {
        /// Which one.
        task: TaskId,
    },
    /// A job's time has come: it runs unless it is held.
    JobDue {
        /// Which one.
        task: TaskId,
    },
    /// Leave a job alone when its time comes.
    HoldJob {
        /// Which one.
        task: TaskId,
    },
    /// Run a held job again when its time comes.
    ReleaseJob {
        /// Which one.
        task: TaskId,
    },
    /// An effect ended.
    Settle {
        /// Which one.
        effect: EffectId,
        /// How.
        outcome: Outcome,
        /// What it cost.
        spent: Amount,
    },
    /// A running attempt got on.
    Progress {
        /// Which one.
        effect: EffectId,
        /// What it did since the last report.
        report: Progress,
    },
    /// An agent does something that people may want to see.
    Note {
        /// In which attempt.
        effect: EffectId,
        /// What.
        note: Note,
    },
    /// Something went wrong inside a running attempt, and its detector knows what.
    Raise {
        /// Which attempt.
        effect: EffectId,
        /// What went wrong.
        fault: Arc<Fault>,
    },
    /// A command the agent ran failed in a way that text rules recognised.
    Observe {
        /// Which attempt.
        effect: EffectId,
        /// What its output was classified as.
        fault: Arc<Fault>,
        /// What the worktree looked like.
        tree: Option<Digest>,
    },
    /// A script says what it fails of. Whether it fails is seen when it ends.
    Blame {
        /// Which execution.
        effect: EffectId,
        /// What it blames.
        fault: Arc<Fault>,
    },
    /// May the next call cost this much?
    Reserve {
        /// For which attempt.
        effect: EffectId,
        /// The most it can cost.
        amount: Amount,
    },
    /// An irreversible action is wanted: a job's is performed now, a task's after its checks.
    Mutate {
        /// By which attempt or execution.
        effect: EffectId,
        /// The action.
        mutation: MutationSpec,
    },
    /// A runtime elsewhere tells what came of its work on a session.
    Report {
        /// The session's task.
        task: TaskId,
        /// What it tells.
        told: Told,
    },
    /// A person answered.
    Answer {
        /// Which question.
        question: QuestionId,
        /// What they chose.
        decision: Decision,
        /// What they said.
        guidance: Option<Arc<str>>,
        /// Who.
        by: Arc<str>,
    },
    /// A person says, before it is asked, whether what is red at the base belongs to the work.
    JudgeBase {
        /// Of which build.
        build: BuildId,
        /// Whether it does.
        belongs: bool,
    },
    /// Look again whether an action happened.
    CheckAgain {
        /// The question that asks a person about it.
        question: QuestionId,
    },
    /// Hold a build.
    Pause {
        /// Which one.
        build: BuildId,
    },
    /// Let a held build go on.
    Resume {
        /// Which one.
        build: BuildId,
    },
    /// End a build.
    Cancel {
        /// Which one.
        build: BuildId,
    },
    /// A build cannot go on at all.
    Abort {
        /// Which one.
        build: BuildId,
        /// Why.
        fault: Arc<Fault>,
    },
    /// End a task's wait early.
    Kick {
        /// Which task.
        task: TaskId,
    },
    /// End a gate's wait early.
    KickGate {
        /// Which gate.
        gate: GateKey,
    },
    /// Do a task again that ended without success.
    Retry {
        /// Which one.
        task: TaskId,
    },
    /// Leave a task out.
    Skip {
        /// Which one.
        task: TaskId,
    },
    /// Forget the tries of one error, or of all.
    Forget {
        /// Which error; all without one.
        signature: Option<Signature>,
    },
    /// Something that a person wants, and who: that is remembered with what comes of it.
    By {
        /// Whose order it is.
        order: Order,
        /// What they want.
        wants: Box<Command>,
    },
    /// Time has passed.
    Wake,
    /// The process was started: whatever was running is gone.
    Recover {
        /// Only this task's; everybody's without one.
        task: Option<TaskId>,
        /// We had ended it ourselves, so it counts as no crash.
        clean: bool,
    },
}

/// How an effect ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The agent says it is done.
    Attempted {
        /// What it did.
        approach: Arc<Approach>,
    },
    /// It succeeded.
    Done,
    /// An agent has repaired the script.
    Repaired {
        /// What it did.
        approach: Arc<Approach>,
        /// The branch on which the repair waits for a person; without one it is in use.
        branch: Option<Arc<str>>,
    },
    /// It failed.
    Failed {
        /// How.
        fault: Arc<Fault>,
        /// What the attempt did, where there was one.
        approach: Option<Arc<Approach>>,
    },
    /// The action happened, with this result.
    Applied {
        /// What came back, or where it is kept.
        result: Arc<str>,
    },
    /// The action certainly did not happen.
    NotApplied,
    /// Whether the action happened is not known.
    Unknown {
        /// What went wrong.
        fault: Arc<Fault>,
    },
    /// It cannot be found out whether the action happened.
    CannotTell {
        /// What the look-up said, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
    },
    /// The build's branch moved on before the merge.
    HeadMoved,
}

/// What a runtime elsewhere tells about its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub enum Told {
    /// Its attempt failed. The same request again changes nothing.
    Failed {
        /// How it is recognised when it comes again.
        request: Request,
        /// How.
        fault: Arc<Fault>,
        /// What the attempt did.
        approach: Option<Arc<Approach>>,
    },
    /// The goal is reached.
    Done {
        /// What the attempt did.
        approach: Arc<Approach>,
    },
    /// It is about to perform an irreversible action.
    Intends {
        /// Which one.
        mutation: MutationSpec,
    },
    /// It performed an irreversible action.
    Acted {
        /// The action's key.
        key: String,
        /// What came of it.
        outcome: Outcome,
    },
}

/// What a running attempt did since its last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Rounds it completed.
    pub iterations: u32,
    /// Tools it called.
    pub tool_calls: u32,
    /// Whether the checks passed at the end of it.
    pub validated: bool,
    /// What it cost.
    pub spent: Amount,
}

impl Progress {
    /// Whether the model behind it has answered: a round, a tool that it called, or tokens that it
    /// wrote. The start of an agent is a report as well, and says nothing about the account.
    pub const fn shows_an_answer(&self) -> bool {
        self.iterations > 0
            || self.tool_calls > 0
            || self.validated
            || self.spent.tokens > 0
            || self.spent.money_micros > 0
    }
}

/// The longest text of a note, in characters.
pub const NOTE_CHARS_MAX: usize = 500;

/// What an agent is doing, or what was seen of its work. Texts are redacted before they come here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// A round of thinking began.
    Thinking,
    /// It called a tool.
    ToolCalled {
        /// What the tool is for.
        tool: ToolKind,
        /// The call in one short line.
        label: Arc<str>,
        /// The commands that are running now, this one among them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        running: Vec<Arc<str>>,
    },
    /// It was not allowed to do something.
    Refused {
        /// What, in one line.
        what: Arc<str>,
        /// The rule or setting that does not allow it.
        why: Arc<str>,
    },
    /// It said something to people.
    Narrated {
        /// What.
        text: Arc<str>,
    },
    /// The worker says something to people about the run.
    Remarked {
        /// What, in whole sentences.
        text: Arc<str>,
    },
    /// The checks were run on the commit that the build starts from, and these are red.
    BaseChecked {
        /// The red ones.
        red: Vec<RedCheck>,
    },
    /// The checks of a gate were run by the worker that judges the work, never by an agent.
    Checked {
        /// What they said.
        checked: Checked,
    },
}

/// Why a command was not carried out. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Nothing owes this effect: unknown, late or settled.
    #[error("effect {0} is not owed by anybody")]
    Stale(EffectId),
    /// The result does not fit the effect.
    #[error("that is no result of effect {0}")]
    Misfit(EffectId),
    /// There is no such build.
    #[error("there is no build {0}")]
    NoBuild(BuildId),
    /// There is no such task.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// There is no such question.
    #[error("there is no question {0}")]
    NoQuestion(QuestionId),
    /// The question was answered before.
    #[error("question {0} has already been answered")]
    Answered(QuestionId),
    /// Nobody needs the question's answer any more.
    #[error("question {0} was withdrawn")]
    Withdrawn(QuestionId),
    /// The question does not offer this choice.
    #[error("question {question} does not offer {decision}")]
    NotAnOption {
        /// Which question.
        question: QuestionId,
        /// What was chosen.
        decision: Decision,
    },
    /// The key was used for something else.
    #[error("the key {0:?} was used for an action with other arguments")]
    KeyReused(String),
    /// A request came again and said something else.
    #[error("the request {0:?} was sent before and said something else")]
    RequestReused(String),
    /// It does not fit the state things are in.
    #[error("{what} is {state}")]
    NotNow {
        /// What it was about.
        what: String,
        /// The state it is in.
        state: &'static str,
    },
}
