//! The agent loop: one attempt of a model at a task.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{Action, Outcome, Step, StuckLimits, Verdict, Watch};
use unstuck_core::engine::{Note, Progress, Start, Work};
use unstuck_core::fault::Fault;
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::tell::NUDGE;
use unstuck_core::time::{Span, Time};
use unstuck_store::Conversation;
use unstuck_world::model::{Failure, Model, Request, ToolSpec, Turn};
use unstuck_world::provider::prices::Price;
use unstuck_world::redact::Redactor;
use unstuck_world::tool::{Toolbox, specs};
use unstuck_world::workspace::Workspace;

use super::answer::Answered;
use super::cost;
use super::desk::{Desk, Over};
use super::memory::{Called, Memory};
use super::prompt;
use crate::clean;
use crate::clock::Clock;
use crate::decider::Decider;
use crate::world::Order;

/// The source of faults about an agent that goes in circles.
const SOURCE: &str = "agent";

/// The dependencies of the loop that are the same for all tasks.
pub struct AgentLoop {
    /// The decider that progress and faults are reported to.
    pub decider: Arc<dyn Decider>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The policy, for the texts that name its limits.
    pub policy: Arc<Policy>,
    /// The model to call.
    pub model: Arc<dyn Model>,
    /// The redactor for all texts that are kept or sent.
    pub redactor: Arc<Redactor>,
    /// The limits of a model call.
    pub settings: Settings,
}

/// The limits of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Maximum number of output tokens.
    pub output_tokens_max: u32,
    /// The price of the model, if known.
    pub price: Option<Price>,
    /// Maximum duration of a call, reserved from a time budget; zero if there is none.
    pub call_time_max: Span,
}

/// The input of one attempt.
pub struct Assignment<'a> {
    /// The effect to perform.
    pub order: &'a Order,
    /// The notes from the task's files and the project, in addition to the goal.
    pub notes: &'a str,
    /// The tools of the model.
    pub tools: &'a Toolbox,
    /// The worktree that the tools act in.
    pub workspace: &'a Workspace,
    /// The latest checkpoint of the task's conversation.
    pub kept: Option<Conversation>,
}

/// The result of an attempt.
#[derive(Debug)]
pub struct Finished {
    /// The way it ended.
    pub end: End,
    /// The actions performed, for the recognition of approaches; includes those before a crash.
    pub actions: Vec<Action>,
    /// The amount spent since the last report.
    pub spent: Amount,
}

/// The way an attempt ended.
#[derive(Debug)]
pub enum End {
    /// The model says that it is done.
    Done {
        /// The model's own summary of its work.
        summary: String,
    },
    /// The attempt cannot continue.
    Failed(Box<Fault>),
    /// The attempt was stopped, or the engine has ended the run: there is nothing to report.
    Stopped,
}

impl From<Over> for End {
    fn from(over: Over) -> Self {
        match over {
            Over::Run => Self::Stopped,
            Over::Failed(fault) => Self::Failed(fault),
        }
    }
}

/// The state of an attempt in progress.
pub(super) struct Working<'a> {
    pub(super) desk: Desk<'a>,
    pub(super) tools: &'a Toolbox,
    pub(super) workspace: &'a Workspace,
    pub(super) redactor: &'a Redactor,
    pub(super) stop: &'a CancellationToken,
    pub(super) memory: Memory,
    model: &'a dyn Model,
    settings: Settings,
    specs: Vec<ToolSpec>,
    /// The amount spent and not yet reported.
    spent: Amount,
    /// The token usage of the last call, and the length of the conversation at that time.
    measured: Option<cost::Measured>,
}

impl AgentLoop {
    /// Works on a task until it is done, fails, or is stopped; all commands it started are gone
    /// when it returns. Waits for a limited account and retries are left to the engine.
    pub async fn work(&self, given: Assignment<'_>, stop: &CancellationToken) -> Finished {
        let effect = &given.order.effect;
        let desk = Desk {
            decider: &*self.decider,
            clock: &*self.clock,
            policy: &self.policy,
            effect: effect.id,
            task: effect.task,
            run: effect.run,
            stop,
        };
        let memory = match self.begin(&given, &desk).await {
            Ok(memory) => memory,
            Err(over) => return Finished::without_work(over.into()),
        };
        let mut working = Working {
            desk,
            tools: given.tools,
            workspace: given.workspace,
            redactor: &self.redactor,
            stop,
            memory,
            model: &*self.model,
            settings: self.settings,
            specs: specs(),
            spent: Amount::ZERO,
            measured: None,
        };
        let end = working.run().await;
        Finished { end, actions: working.memory.actions, spent: working.spent }
    }

    /// Returns the conversation to continue: the kept one, or a new one.
    async fn begin(&self, given: &Assignment<'_>, desk: &Desk<'_>) -> Result<Memory, Over> {
        let start = match given.order.effect.what {
            Work::Attempt { start } => start,
            _ => Start::Fresh,
        };
        let kept =
            given.kept.as_ref().filter(|_| matches!(start, Start::Resume | Start::Compacted));
        let Some(mut memory) = kept.and_then(Memory::read) else {
            let worktree = given.workspace.directory().display().to_string();
            let prompt = prompt::task(given.order, given.notes);
            let watch = Watch::new(StuckLimits::default(), worktree);
            let mut memory = Memory::new(&self.redactor.text(&prompt), watch);
            let context = given.order.context.as_deref();
            memory.knows(context.map(|context| self.redactor.text(context).into_owned()));
            return Ok(memory);
        };
        memory.repair();
        if start == Start::Compacted {
            memory.compact();
        }
        if given.order.nudged {
            memory.tell_once(NUDGE);
        }
        // The operator's guidance goes into a resumed conversation as well; a mere wait adds
        // nothing to it.
        if desk.has_guidance().await? {
            let context = given.order.context.as_deref().unwrap_or_default();
            memory.tell_once(&self.redactor.text(context));
        }
        Ok(memory)
    }
}

impl Finished {
    const fn without_work(end: End) -> Self {
        Self { end, actions: Vec::new(), spent: Amount::ZERO }
    }
}

impl Working<'_> {
    async fn run(&mut self) -> End {
        loop {
            match self.round().await {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(over) => return over.into(),
            }
        }
    }

    /// Runs one round: think, act, observe. Returns the end of the attempt if it was the last
    /// round.
    async fn round(&mut self) -> Result<Option<End>, Over> {
        let turn = match self.think().await? {
            Some(Ok(turn)) => turn,
            Some(Err(failure)) => return Ok(Some(End::Failed(failure.fault))),
            None => return Ok(Some(End::Stopped)),
        };
        let calls = self.memory.hear(turn.parts, self.redactor);
        if calls.is_empty() && self.memory.is_paused() {
            // The next request contains the turn so far, and the model continues it.
            self.checkpoint(Progress { iterations: 1, ..Progress::default() }).await?;
            return Ok(None);
        }
        // The calls are on disk before the first is carried out, so that after a crash the
        // conversation shows what may have happened.
        self.checkpoint(Progress::default()).await?;
        if calls.is_empty() {
            return self.talked().await;
        }
        let tool_calls = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        let end = self.act(calls).await?;
        // A round that ended the attempt does not count as an iteration.
        let iterations = u32::from(end.is_none());
        if !matches!(end, Some(End::Done { .. })) {
            self.checkpoint(Progress { iterations, tool_calls, ..Progress::default() }).await?;
        }
        Ok(end)
    }

    /// Asks the model for its next turn, within the budget. Returns `None` if stopped.
    async fn think(&mut self) -> Result<Option<Result<Turn, Failure>>, Over> {
        if self.stop.is_cancelled() {
            return Ok(None);
        }
        self.desk.note(Note::Thinking).await;
        let most = cost::most(&self.memory, &self.specs, &self.settings, self.measured);
        if self.desk.reserve(most).await? && self.memory.winds_down() {
            self.memory.tell(prompt::WIND_DOWN);
        }
        let began = self.desk.clock.now();
        let request = Request {
            system: prompt::SYSTEM,
            messages: self.memory.messages(),
            tools: &self.specs,
            output_tokens_max: self.settings.output_tokens_max,
        };
        let Some(turn) = self.model.turn(request, self.stop).await else { return Ok(None) };
        let usage = match &turn {
            Ok(turn) => turn.usage,
            Err(failure) => failure.usage,
        };
        self.spent = self.spent.plus(cost::spent(&usage, turn.is_ok().then_some(most)));
        self.took(began);
        self.measured = Some(cost::Measured::of(&usage, &self.memory));
        Ok(Some(turn.map_err(|failure| self.cleaned(&failure))))
    }

    /// Handles a turn of text alone. A model that keeps to text after it has changed files has
    /// ended without a last call, as agent programs do: its work is checked.
    async fn talked(&mut self) -> Result<Option<End>, Over> {
        let verdict = self.memory.watch.observe(Step::Message);
        if let Verdict::Stuck(evidence) = verdict {
            let changes = self.workspace.changes().await;
            let changes = changes.map_err(|fault| Over::Failed(Box::new(fault)))?;
            return Ok(Some(match self.memory.last_words() {
                Some(summary) if !changes.is_empty() => End::Done { summary },
                _ => End::Failed(Box::new(evidence.fault(SOURCE))),
            }));
        }
        self.memory.tell(prompt::GO_ON);
        self.checkpoint(Progress { iterations: 1, ..Progress::default() }).await?;
        Ok(None)
    }

    /// Carries out the calls of a turn, one after the other. Each gets exactly one answer.
    async fn act(&mut self, calls: Vec<Called>) -> Result<Option<End>, Over> {
        let mut failed = false;
        let mut end = None;
        for call in calls {
            if end.is_some() || self.stop.is_cancelled() {
                self.memory.answer(&call.id, prompt::NOT_RUN, true);
                continue;
            }
            let Answered { text, outcome, last, nudge } = self.answer(&call, failed).await?;
            let text = self.redactor.text(&text).into_owned();
            let is_failure = outcome == Outcome::Failed;
            failed |= is_failure;
            self.memory.answer(&call.id, &text, is_failure);
            if let Some(nudge) = nudge {
                self.memory.tell(&nudge);
            }
            end = last;
        }
        if self.stop.is_cancelled() && end.is_none() {
            return Ok(Some(End::Stopped));
        }
        Ok(end)
    }

    /// Writes the conversation and the amount spent so far to disk.
    pub(super) async fn checkpoint(&mut self, report: Progress) -> Result<(), Over> {
        let spent = std::mem::replace(&mut self.spent, Amount::ZERO);
        let report = Progress { spent, ..report };
        let conversation = self.memory.written().map_err(Over::Failed)?;
        self.desk.checkpoint(report, conversation).await
    }

    /// Adds the time since `began` to the amount spent. Waits are not counted.
    pub(super) fn took(&mut self, began: Time) {
        let time_ms = self.desk.clock.now().since(began).as_millis();
        self.spent = self.spent.plus(Amount { time_ms, ..Amount::ZERO });
    }

    fn cleaned(&self, failure: &Failure) -> Failure {
        let fault = Box::new(clean::fault(self.redactor, &failure.fault));
        Failure { fault, usage: failure.usage }
    }
}
