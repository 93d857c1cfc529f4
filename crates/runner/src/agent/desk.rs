//! Reports of an attempt to the decider, and the decisions that come back.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Digest;
use unstuck_core::engine::{
    Command, EffectId, Event, Note, Progress, Reconciled, Recorded, RunId, TaskId,
};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::MutationSpec;
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::tell::{self, Waited};
use unstuck_store::Conversation;

use crate::clock::Clock;
use crate::decider::{Decider, Look, Undecided};

/// The reason for which an attempt ends early.
#[derive(Debug)]
pub(super) enum Over {
    /// The run has ended or was stopped; its result is no longer awaited.
    Run,
    /// The attempt has to be reported as failed.
    Failed(Box<Fault>),
}

/// The result of a declaration.
pub(super) enum Declared {
    /// The action is performed after the checks, unless it was already reconciled this way.
    Noted(Option<Reconciled>),
    /// The action was applied before, with this result.
    Before(Arc<str>),
    Refused(String),
    /// The task may not act in its phase; the fault is recorded already.
    OutOfPhase(String),
}

/// The recorded events of a decision.
type Decided = Vec<Arc<Recorded>>;

/// The connection of one attempt to the decider.
pub(super) struct Desk<'a> {
    pub(super) decider: &'a dyn Decider,
    pub(super) clock: &'a dyn Clock,
    pub(super) policy: &'a Arc<Policy>,
    pub(super) effect: EffectId,
    pub(super) task: TaskId,
    pub(super) run: RunId,
    pub(super) stop: &'a CancellationToken,
}

impl Desk<'_> {
    /// Sends a note for watchers. A failure to send it is ignored.
    pub(super) async fn note(&self, note: Note) {
        let _ = self.decider.command(Command::Note { effect: self.effect, note }).await;
    }

    /// Reserves the maximum cost of a call, and returns whether it is time to wind down.
    pub(super) async fn reserve(&self, amount: Amount) -> Result<bool, Over> {
        let decided = self.command(Command::Reserve { effect: self.effect, amount }).await?;
        let winds_down = |recorded: &Arc<Recorded>| {
            matches!(recorded.event, Event::BudgetUpdated { wind_down: true, .. })
        };
        Ok(decided.iter().any(winds_down))
    }

    pub(super) async fn checkpoint(
        &self,
        report: Progress,
        conversation: Conversation,
    ) -> Result<(), Over> {
        let decided = self.decider.checkpoint(self.effect, report, conversation).await;
        self.goes_on(decided).map(drop)
    }

    /// Raises a certain failure, and returns the text for the model about it.
    pub(super) async fn raise(&self, fault: Arc<Fault>) -> Result<Option<String>, Over> {
        let raise = Command::Raise { effect: self.effect, fault: Arc::clone(&fault) };
        let decided = self.command(raise).await?;
        self.words(&decided, &fault).await
    }

    /// Reports a failed step, which may be a mere observation: then there is no text for the model.
    pub(super) async fn observe(
        &self,
        fault: Arc<Fault>,
        tree: Option<Digest>,
    ) -> Result<Option<String>, Over> {
        let observe = Command::Observe { effect: self.effect, fault: Arc::clone(&fault), tree };
        let decided = self.command(observe).await?;
        self.words(&decided, &fault).await
    }

    pub(super) async fn declare(&self, mutation: MutationSpec) -> Result<Declared, Over> {
        let task = self.task;
        let key = mutation.key.clone();
        let anew = mutation.kind.belongs_to_the_attempt();
        let mutate = Command::Mutate { effect: self.effect, mutation };
        let decided = self.decider.command(mutate).await;
        if let Err(Undecided::Refused(why) | Undecided::KeyReused(why)) = decided {
            return Ok(Declared::Refused(why));
        }
        let decided = self.goes_on(decided)?;
        if let Some(fault) = decided.iter().find_map(|recorded| recorded.event.met()) {
            return Ok(Declared::OutOfPhase(fault.message.clone()));
        }
        let known = self.decider.look(Look::Action { task, key }).await;
        Ok(match known.map_err(|_| Over::Run)?.text() {
            Some(result) if !anew => Declared::Before(result),
            _ => Declared::Noted(decided.iter().find_map(|of| of.event.declared_before())),
        })
    }

    /// Returns whether the operator gave guidance to the task.
    pub(super) async fn has_guidance(&self) -> Result<bool, Over> {
        let seen = self.decider.look(Look::Guidance { task: self.task }).await;
        seen.map(|seen| seen.is()).map_err(|_| Over::Run)
    }

    async fn command(&self, command: Command) -> Result<Decided, Over> {
        let decided = self.decider.command(command).await;
        self.goes_on(decided)
    }

    /// Returns the decided events, unless they end the attempt.
    fn goes_on(&self, decided: Result<Decided, Undecided>) -> Result<Decided, Over> {
        match decided {
            Ok(decided) if decided.iter().any(|of| of.event.ended_run() == Some(self.run)) => {
                Err(Over::Run)
            }
            Ok(decided) => Ok(decided),
            Err(Undecided::Ended | Undecided::Stale) => Err(Over::Run),
            // The result is kept and submitted again when the store is back.
            Err(Undecided::Store(fault)) => Err(Over::Failed(fault)),
            Err(
                Undecided::Refused(why) | Undecided::KeyReused(why) | Undecided::RequestReused(why),
            ) => {
                let context = Internal { component: "agent loop".to_owned() };
                Err(Over::Failed(Box::new(Fault::internal_error("agent", why, context))))
            }
        }
    }

    /// Returns the text for the model about a decision on a fault, after the wait that the decision
    /// may ask for.
    async fn words(
        &self,
        decided: &[Arc<Recorded>],
        fault: &Fault,
    ) -> Result<Option<String>, Over> {
        for recorded in decided {
            match &recorded.event {
                Event::ToolWaiting { code, until, .. } => {
                    let began = self.clock.now();
                    while self.clock.now() < *until {
                        tokio::select! {
                            () = self.clock.until(*until) => {}
                            () = self.stop.cancelled() => return Err(Over::Run),
                        }
                    }
                    let span = self.clock.now().since(began);
                    let message = &fault.message;
                    return Ok(Some(tell::waited(&Waited { span, code: *code, message })));
                }
                Event::Retrying { .. } => return self.another_way().await,
                _ => {}
            }
        }
        Ok(None)
    }

    async fn another_way(&self) -> Result<Option<String>, Over> {
        let look = Look::AnotherWay { run: self.run, policy: Box::new((**self.policy).clone()) };
        let told = self.decider.look(look).await.map_err(|_| Over::Run)?;
        Ok(told.text().map(|text| text.to_string()))
    }
}
