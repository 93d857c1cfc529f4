//! The agent loop: one attempt of a model at a task.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{
    ActionOutcome, AgentAction, AgentStep, LoopDetector, StepVerdict, StuckLimits,
};
use unstuck_core::engine::{EffectKind, ProgressReport, RunNote, Start};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::tell::NUDGE;
use unstuck_store::StoredConversation;
use unstuck_world::model::{Model, ModelFailure, ModelRequest, ModelTurn};
use unstuck_world::redact::Redactor;
use unstuck_world::tool::{Toolbox, tool_specs};
use unstuck_world::workspace::Workspace;

use super::answer::ToolCallAnswer;
use super::attempt::{self, AgentLoopEnd, AgentLoopState, ModelCallLimits};
use super::memory::{AttemptMemory, ModelToolCall};
use super::prompt;
use super::reporter::{AttemptAbort, AttemptReporter};
use crate::decider::Decider;
use crate::effects::{EffectRequest, redact_fault};
use crate::event_loop::Clock;

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
    pub settings: ModelCallLimits,
}

/// The input of one attempt.
pub struct AgentLoopInput<'a> {
    /// The effect to perform.
    pub order: &'a EffectRequest,
    /// The notes from the task's files and the project, in addition to the goal.
    pub notes: &'a str,
    /// The tools of the model.
    pub tools: &'a Toolbox,
    /// The worktree that the tools act in.
    pub workspace: &'a Workspace,
    /// The latest checkpoint of the task's conversation.
    pub kept: Option<StoredConversation>,
}

/// The result of an attempt.
#[derive(Debug)]
pub struct AgentLoopResult {
    /// The way it ended.
    pub end: AgentLoopEnd,
    /// The actions performed, for the recognition of approaches; includes those before a crash.
    pub actions: Vec<AgentAction>,
    /// The amount spent since the last report.
    pub spent: Amount,
}

impl AgentLoop {
    /// Works on a task until it is done, fails, or is stopped; all commands it started are gone
    /// when it returns. Waits for a limited account and retries are left to the engine.
    pub async fn run_attempt(
        &self,
        given: AgentLoopInput<'_>,
        stop: &CancellationToken,
    ) -> AgentLoopResult {
        let effect = &given.order.effect;
        let reporter = AttemptReporter {
            decider: &*self.decider,
            clock: &*self.clock,
            policy: &self.policy,
            effect: effect.id,
            task: effect.task,
            run: effect.run,
            stop,
        };
        let memory = match self.begin_conversation(&given, &reporter).await {
            Ok(memory) => memory,
            Err(over) => return AgentLoopResult::without_work(over.into()),
        };
        let mut working = AgentLoopState {
            reporter,
            tools: given.tools,
            workspace: given.workspace,
            redactor: &self.redactor,
            stop,
            memory,
            model: &*self.model,
            settings: self.settings,
            specs: tool_specs(),
            spent: Amount::ZERO,
            measured: None,
        };
        let end = working.run_rounds().await;
        AgentLoopResult { end, actions: working.memory.actions, spent: working.spent }
    }

    /// Returns the conversation to continue: the kept one, or a new one.
    async fn begin_conversation(
        &self,
        given: &AgentLoopInput<'_>,
        reporter: &AttemptReporter<'_>,
    ) -> Result<AttemptMemory, AttemptAbort> {
        let start = match given.order.effect.what {
            EffectKind::Attempt { start } => start,
            _ => Start::Fresh,
        };
        let kept =
            given.kept.as_ref().filter(|_| matches!(start, Start::Resume | Start::Compacted));
        let Some(mut memory) = kept.and_then(AttemptMemory::from_checkpoint) else {
            let worktree = given.workspace.directory().display().to_string();
            let prompt = prompt::render_task_prompt(given.order, given.notes);
            let watch = LoopDetector::new(StuckLimits::default(), worktree);
            let mut memory = AttemptMemory::new(&self.redactor.redact_text(&prompt), watch);
            let context = given.order.context.as_deref();
            memory.note_told_text(
                context.map(|context| self.redactor.redact_text(context).into_owned()),
            );
            return Ok(memory);
        };
        memory.repair_conversation();
        if start == Start::Compacted {
            memory.compact_conversation();
        }
        if given.order.nudged {
            memory.append_user_text_once(NUDGE);
        }
        // The operator's guidance goes into a resumed conversation as well; a mere wait adds
        // nothing to it.
        if reporter.has_guidance().await? {
            let context = given.order.context.as_deref().unwrap_or_default();
            memory.append_user_text_once(&self.redactor.redact_text(context));
        }
        Ok(memory)
    }
}

impl AgentLoopResult {
    const fn without_work(end: AgentLoopEnd) -> Self {
        Self { end, actions: Vec::new(), spent: Amount::ZERO }
    }
}

impl AgentLoopState<'_> {
    async fn run_rounds(&mut self) -> AgentLoopEnd {
        loop {
            match self.run_round().await {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(over) => return over.into(),
            }
        }
    }

    /// Runs one round: think, act, observe. Returns the end of the attempt if it was the last
    /// round.
    async fn run_round(&mut self) -> Result<Option<AgentLoopEnd>, AttemptAbort> {
        let turn = match self.request_turn().await? {
            Some(Ok(turn)) => turn,
            Some(Err(failure)) => return Ok(Some(AgentLoopEnd::Failed(failure.fault))),
            None => return Ok(Some(AgentLoopEnd::Stopped)),
        };
        let calls = self.memory.append_turn(turn.parts, self.redactor);
        if calls.is_empty() && self.memory.is_paused() {
            // The next request contains the turn so far, and the model continues it.
            self.record_checkpoint(ProgressReport { iterations: 1, ..ProgressReport::default() })
                .await?;
            return Ok(None);
        }
        // The calls are on disk before the first is carried out, so that after a crash the
        // conversation shows what may have happened.
        self.record_checkpoint(ProgressReport::default()).await?;
        if calls.is_empty() {
            return self.handle_text_turn().await;
        }
        let tool_calls = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        let end = self.carry_out_calls(calls).await?;
        // A round that ended the attempt does not count as an iteration.
        let iterations = u32::from(end.is_none());
        if !matches!(end, Some(AgentLoopEnd::Done { .. })) {
            self.record_checkpoint(ProgressReport {
                iterations,
                tool_calls,
                idle: true,
                ..ProgressReport::default()
            })
            .await?;
        }
        Ok(end)
    }

    /// Asks the model for its next turn, within the budget. Returns `None` if stopped.
    async fn request_turn(
        &mut self,
    ) -> Result<Option<Result<ModelTurn, ModelFailure>>, AttemptAbort> {
        if self.stop.is_cancelled() {
            return Ok(None);
        }
        self.reporter.send_note(RunNote::Thinking).await;
        let most =
            attempt::estimate_max_cost(&self.memory, &self.specs, &self.settings, self.measured);
        if self.reporter.reserve_budget(most).await? && self.memory.begin_wind_down() {
            self.memory.append_user_text(prompt::WIND_DOWN);
        }
        let began = self.reporter.clock.now();
        let request = ModelRequest {
            system: prompt::SYSTEM,
            messages: self.memory.messages(),
            tools: &self.specs,
            output_tokens_max: self.settings.output_tokens_max,
        };
        let Some(turn) = self.model.request_turn(request, self.stop).await else { return Ok(None) };
        let usage = match &turn {
            Ok(turn) => turn.usage,
            Err(failure) => failure.usage,
        };
        self.spent = self
            .spent
            .saturating_add(attempt::compute_call_cost(&usage, turn.is_ok().then_some(most)));
        self.count_time_since(began);
        self.measured = Some(attempt::MeasuredUsage::from_usage(&usage, &self.memory));
        Ok(Some(turn.map_err(|failure| self.redact_failure(&failure))))
    }

    /// Handles a turn of text alone. A model that keeps to text after it has changed files has
    /// ended without a last call, as agent programs do: its work is checked.
    async fn handle_text_turn(&mut self) -> Result<Option<AgentLoopEnd>, AttemptAbort> {
        let verdict = self.memory.watch.observe(AgentStep::Message);
        if let StepVerdict::Stuck(evidence) = verdict {
            let changes = self.workspace.list_changes().await;
            let changes = changes.map_err(|fault| AttemptAbort::Failed(Box::new(fault)))?;
            return Ok(Some(match self.memory.last_turn_text() {
                Some(summary) if !changes.is_empty() => AgentLoopEnd::Done { summary },
                _ => AgentLoopEnd::Failed(Box::new(evidence.to_fault(SOURCE))),
            }));
        }
        self.memory.append_user_text(prompt::GO_ON);
        self.record_checkpoint(ProgressReport { iterations: 1, ..ProgressReport::default() })
            .await?;
        Ok(None)
    }

    /// Carries out the calls of a turn, one after the other. Each gets exactly one answer.
    async fn carry_out_calls(
        &mut self,
        calls: Vec<ModelToolCall>,
    ) -> Result<Option<AgentLoopEnd>, AttemptAbort> {
        let mut failed = false;
        let mut end = None;
        for call in calls {
            if end.is_some() || self.stop.is_cancelled() {
                self.memory.set_call_result(&call.id, prompt::NOT_RUN, true);
                continue;
            }
            let ToolCallAnswer { text, outcome, last, nudge } =
                self.answer_call(&call, failed).await?;
            if self.stop.is_cancelled() && last.is_none() {
                self.memory.set_call_result(&call.id, prompt::NO_RESULT, true);
                continue;
            }
            let text = self.redactor.redact_text(&text).into_owned();
            let is_failure = outcome == ActionOutcome::Failed;
            failed |= is_failure;
            self.memory.set_call_result(&call.id, &text, is_failure);
            if let Some(nudge) = nudge {
                self.memory.append_user_text(&nudge);
            }
            end = last;
        }
        if self.stop.is_cancelled() && end.is_none() {
            return Ok(Some(AgentLoopEnd::Stopped));
        }
        Ok(end)
    }

    fn redact_failure(&self, failure: &ModelFailure) -> ModelFailure {
        let fault = Box::new(redact_fault(self.redactor, &failure.fault));
        ModelFailure { fault, usage: failure.usage }
    }
}
