//! Talking to whoever decides: what is reported, and what comes back.

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

/// Why the attempt does not go on.
#[derive(Debug)]
pub(super) enum Over {
    /// The run has ended or was stopped; nobody waits for a result.
    Run,
    /// It has to be reported as failed.
    Failed(Box<Fault>),
}

/// What became of an action that was to be declared.
pub(super) enum Declared {
    /// It is performed after the checks, unless this became of it before.
    Noted(Option<Reconciled>),
    /// It was done before, with this result.
    Before(Arc<str>),
    Refused(String),
    /// The task acts in no way in its phase; that is noted already.
    OutOfPhase(String),
}

/// What was decided.
type Decided = Vec<Arc<Recorded>>;

/// The way to whoever decides, for one attempt.
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
    /// For whoever looks on. That it cannot be told changes nothing.
    pub(super) async fn note(&self, note: Note) {
        let _ = self.decider.command(Command::Note { effect: self.effect, note }).await;
    }

    /// Whether a call may cost this much; if so, whether it is time to come to an end.
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

    /// Something certainly went wrong. What the model is to read about it.
    pub(super) async fn raise(&self, fault: Arc<Fault>) -> Result<Option<String>, Over> {
        let raise = Command::Raise { effect: self.effect, fault: Arc::clone(&fault) };
        let decided = self.command(raise).await?;
        self.words(&decided, &fault).await
    }

    /// A step failed, which may be only an observation: then there is nothing to read about it.
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
        let (task, key) = (self.task, mutation.key.clone());
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

    /// Whether a person has said something about the task.
    pub(super) async fn has_guidance(&self) -> Result<bool, Over> {
        let seen = self.decider.look(Look::Guidance { task: self.task }).await;
        seen.map(|seen| seen.is()).map_err(|_| Over::Run)
    }

    async fn command(&self, command: Command) -> Result<Decided, Over> {
        let decided = self.decider.command(command).await;
        self.goes_on(decided)
    }

    /// What was decided, unless the attempt is over with it.
    fn goes_on(&self, decided: Result<Decided, Undecided>) -> Result<Decided, Over> {
        match decided {
            Ok(decided) if decided.iter().any(|of| of.event.ended_run() == Some(self.run)) => {
                Err(Over::Run)
            }
            Ok(decided) => Ok(decided),
            Err(Undecided::Ended | Undecided::Stale) => Err(Over::Run),
            // The result is kept and handed in again when the store is back.
            Err(Undecided::Store(fault)) => Err(Over::Failed(fault)),
            Err(
                Undecided::Refused(why) | Undecided::KeyReused(why) | Undecided::RequestReused(why),
            ) => {
                let context = Internal { component: "agent loop".to_owned() };
                Err(Over::Failed(Box::new(Fault::internal_error("agent", why, context))))
            }
        }
    }

    /// What a decision about a fault means for the model, after the wait that it may ask for.
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
