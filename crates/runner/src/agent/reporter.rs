//! Reports of an attempt to the decider, and the decisions that come back.

use std::fmt::Display;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Digest;
use unstuck_core::engine::{
    Command, EffectId, Event, ProgressReport, Reconciled, RecordedEvent, RunId, RunNote, TaskId,
};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::MutationSpec;
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::tell::{self, CommandWait};
use unstuck_store::StoredConversation;

use crate::decider::{DecideError, Decider, StateQuery};
use crate::event_loop::Clock;

/// The reason for which an attempt ends early.
#[derive(Debug)]
pub(super) enum AttemptAbort {
    /// The run has ended or was stopped; its result is no longer awaited.
    Run,
    /// The attempt has to be reported as failed.
    Failed(Box<Fault>),
}

pub(super) enum DeclarationResult {
    /// The action is performed after the checks, unless it was already reconciled this way.
    Noted(Option<Reconciled>),
    /// The action was applied before, with this result.
    Before(Arc<str>),
    Refused(String),
    /// The task may not act in its phase; the fault is recorded already.
    OutOfPhase(String),
}

/// The recorded events of a decision.
type DecidedEvents = Vec<Arc<RecordedEvent>>;

/// The connection of one attempt to the decider.
pub(super) struct AttemptReporter<'a> {
    pub(super) decider: &'a dyn Decider,
    pub(super) clock: &'a dyn Clock,
    pub(super) policy: &'a Arc<Policy>,
    pub(super) effect: EffectId,
    pub(super) task: TaskId,
    pub(super) run: RunId,
    pub(super) stop: &'a CancellationToken,
}

impl AttemptReporter<'_> {
    /// Sends a note for watchers. A failure to send it is only logged.
    pub(super) async fn send_note(&self, note: RunNote) {
        let note = Command::Note { effect: self.effect, note };
        if let Err(error) = self.decider.submit_command(note).await {
            tracing::debug!(%error, "no receiver for a note");
        }
    }

    /// Reserves the maximum cost of a call, and returns whether it is time to wind down.
    pub(super) async fn reserve_budget(&self, amount: Amount) -> Result<bool, AttemptAbort> {
        let decided = self.submit_command(Command::Reserve { effect: self.effect, amount }).await?;
        let winds_down = |recorded: &Arc<RecordedEvent>| {
            matches!(recorded.event, Event::BudgetUpdated { wind_down: true, .. })
        };
        Ok(decided.iter().any(winds_down))
    }

    pub(super) async fn record_checkpoint(
        &self,
        report: ProgressReport,
        conversation: StoredConversation,
    ) -> Result<(), AttemptAbort> {
        let decided = self.decider.record_checkpoint(self.effect, report, conversation).await;
        self.require_running(decided).map(drop)
    }

    /// Raises a certain failure, and returns the text for the model about it.
    pub(super) async fn raise_fault(
        &self,
        fault: Arc<Fault>,
    ) -> Result<Option<String>, AttemptAbort> {
        let raise = Command::Raise { effect: self.effect, fault: Arc::clone(&fault) };
        let decided = self.submit_command(raise).await?;
        self.render_decision(&decided, &fault).await
    }

    /// Reports a failed step, which may be a mere observation: then there is no text for the model.
    pub(super) async fn observe_fault(
        &self,
        fault: Arc<Fault>,
        tree: Option<Digest>,
    ) -> Result<Option<String>, AttemptAbort> {
        let observe = Command::Observe { effect: self.effect, fault: Arc::clone(&fault), tree };
        let decided = self.submit_command(observe).await?;
        self.render_decision(&decided, &fault).await
    }

    pub(super) async fn declare_action(
        &self,
        mutation: MutationSpec,
    ) -> Result<DeclarationResult, AttemptAbort> {
        let task = self.task;
        let key = mutation.key.clone();
        let anew = mutation.kind.belongs_to_attempt();
        let mutate = Command::Mutate { effect: self.effect, mutation };
        let decided = self.decider.submit_command(mutate).await;
        if let Err(DecideError::Refused(why) | DecideError::KeyReused(why)) = decided {
            return Ok(DeclarationResult::Refused(why));
        }
        let decided = self.require_running(decided)?;
        if let Some(fault) = decided.iter().find_map(|recorded| recorded.event.met_fault()) {
            return Ok(DeclarationResult::OutOfPhase(fault.message.clone()));
        }
        let known = self.decider.query_state(StateQuery::Action { task, key }).await;
        Ok(match known.map_err(|_| AttemptAbort::Run)?.into_text() {
            Some(result) if !anew => DeclarationResult::Before(result),
            _ => DeclarationResult::Noted(decided.iter().find_map(|of| of.event.declared_before())),
        })
    }

    /// Returns whether the operator gave guidance to the task.
    pub(super) async fn has_guidance(&self) -> Result<bool, AttemptAbort> {
        let seen = self.decider.query_state(StateQuery::Guidance { task: self.task }).await;
        seen.map(|seen| seen.is_yes()).map_err(|_| AttemptAbort::Run)
    }

    async fn submit_command(&self, command: Command) -> Result<DecidedEvents, AttemptAbort> {
        let decided = self.decider.submit_command(command).await;
        self.require_running(decided)
    }

    /// Returns the decided events, unless they end the attempt.
    fn require_running(
        &self,
        decided: Result<DecidedEvents, DecideError>,
    ) -> Result<DecidedEvents, AttemptAbort> {
        match decided {
            Ok(decided) if decided.iter().any(|of| of.event.ended_run() == Some(self.run)) => {
                Err(AttemptAbort::Run)
            }
            Ok(decided) => Ok(decided),
            Err(DecideError::Ended | DecideError::Stale) => Err(AttemptAbort::Run),
            // The result is kept and submitted again when the store is back.
            Err(DecideError::Store(fault)) => Err(AttemptAbort::Failed(fault)),
            Err(
                DecideError::Refused(why)
                | DecideError::KeyReused(why)
                | DecideError::RequestReused(why),
            ) => Err(AttemptAbort::Failed(internal_fault(&why))),
        }
    }

    /// Returns the text for the model about a decision on a fault, after the wait that the decision
    /// may ask for.
    async fn render_decision(
        &self,
        decided: &[Arc<RecordedEvent>],
        fault: &Fault,
    ) -> Result<Option<String>, AttemptAbort> {
        for recorded in decided {
            match &recorded.event {
                Event::ToolWaiting { code, until, .. } => {
                    let began = self.clock.now();
                    while self.clock.now() < *until {
                        tokio::select! {
                            () = self.clock.wait_until(*until) => {}
                            () = self.stop.cancelled() => return Err(AttemptAbort::Run),
                        }
                    }
                    let span = self.clock.now().since(began);
                    let message = &fault.message;
                    return Ok(Some(tell::render_wait_result(&CommandWait {
                        span,
                        code: *code,
                        message,
                    })));
                }
                Event::Retrying { .. } => return self.query_other_approach().await,
                _ => {}
            }
        }
        Ok(None)
    }

    async fn query_other_approach(&self) -> Result<Option<String>, AttemptAbort> {
        let look =
            StateQuery::AnotherWay { run: self.run, policy: Box::new((**self.policy).clone()) };
        let told = self.decider.query_state(look).await.map_err(|_| AttemptAbort::Run)?;
        Ok(told.into_text().map(|text| text.to_string()))
    }
}

/// Returns the fault about a state of the loop that should not be.
pub(super) fn internal_fault(why: &dyn Display) -> Box<Fault> {
    let context = Internal { component: "agent loop".to_owned() };
    Box::new(Fault::internal_error("agent", why.to_string(), context))
}
