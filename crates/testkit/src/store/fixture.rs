//! The fixture of the store suite: a project and a clock; every decision is written immediately.

use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{
    Command, Effect, EffectOutcome, QuestionId, RecordedEvent, Rng, State, TaskId, decide,
};
use unstuck_core::fault::{Code, Fault, Kind};
use unstuck_core::plan::{MutationSpec, Plan, TaskSpec};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::Decision;
use unstuck_core::signature::Signature;
use unstuck_core::time::{Span, Time};
use unstuck_store::{Answer, Batch, Claim, EventPage, Holder, Journal, Store};

use super::{StoreOpener, SuiteResult, check_equal};
use crate::check::Violation;

/// The project of all tests.
pub const PROJECT: &str = "sim";

/// Returns a holder of a project.
pub fn make_holder(verb: &str) -> Holder {
    Holder { pid: 4711, verb: verb.to_owned(), since: Time::from_millis(1) }
}

/// The fixture of a project.
#[derive(Debug)]
pub struct StoreFixture {
    /// The store under test.
    pub store: Arc<dyn Store>,
    /// The state in memory.
    pub state: State,
    /// The journal that decisions are written to.
    pub journal: Box<dyn Journal>,
    /// The current time.
    pub now: Time,
    approaches: u64,
}

impl StoreFixture {
    /// Creates a new project.
    pub async fn new(place: &dyn StoreOpener) -> SuiteResult<Self> {
        let store = place.open();
        let Claim { state, journal, clean } =
            store.claim_project(PROJECT, &make_holder("run")).await?;
        check_equal("a new project was never left badly", &clean, &true)?;
        Ok(Self { store, state, journal, now: Time::from_millis(1_000_000), approaches: 0 })
    }

    /// Simulates a crash, and opens the project again.
    pub async fn crash_and_reopen(self, place: &dyn StoreOpener) -> SuiteResult<Self> {
        let Self { store, state, journal, now, approaches } = self;
        drop((journal, store));
        let next = Self { now, approaches, ..Self::reopen_project(place, false).await? };
        check_equal("the state after a death is the one before", &next.state, &state)?;
        Ok(next)
    }

    /// Closes the project cleanly, and opens it again.
    pub async fn close_and_reopen(self, place: &dyn StoreOpener) -> SuiteResult<Self> {
        let Self { store, state, journal, now, approaches } = self;
        journal.close(&state).await?;
        drop(store);
        let next = Self { now, approaches, ..Self::reopen_project(place, true).await? };
        check_equal("the state after an end is the one before", &next.state, &state)?;
        Ok(next)
    }

    async fn reopen_project(place: &dyn StoreOpener, wanted: bool) -> SuiteResult<Self> {
        let store = place.open();
        let Claim { state, journal, clean } =
            store.claim_project(PROJECT, &make_holder("run")).await?;
        check_equal("how the last one ended is remembered", &clean, &wanted)?;
        Ok(Self { store, state, journal, now: Time::EPOCH, approaches: 0 })
    }

    /// Decides and waits until that is durable; then checks that the journal adds up to the state.
    pub async fn decide_durably(&mut self, command: Command) -> SuiteResult<Vec<RecordedEvent>> {
        let batch = self.decide_command(command)?;
        let events = batch.events.clone();
        self.journal.append_batch(batch).wait_until_durable().await?;
        self.check_replay().await?;
        Ok(events)
    }

    /// Decides without writing.
    pub fn decide_command(&mut self, command: Command) -> SuiteResult<Batch> {
        self.now = self.now + Span::from_secs(1);
        let mut rng = Rng::for_decision(PROJECT, self.state.seq());
        let policy = Policy::default();
        let events = decide(&mut self.state, command, &policy, self.now, &mut rng)?;
        Ok(Batch::new(&self.state, events))
    }

    async fn check_replay(&self) -> SuiteResult {
        let mut replayed = State::new(PROJECT);
        let page = EventPage { after: 0, limit: u32::MAX };
        for recorded in self.store.load_events(PROJECT, page).await? {
            replayed.apply(&recorded)?;
        }
        check_equal("the journal adds up to the state", &replayed, &self.state)
    }

    /// Starts a build of plain tasks that may all start.
    pub async fn start_build(&mut self, tasks: Vec<TaskSpec>) -> SuiteResult {
        let plan = Arc::new(Plan::new(tasks)?);
        self.decide_durably(Command::StartBuild { plan, slots: 100, in_place: false }).await?;
        Ok(())
    }

    /// Returns the latest task of that name.
    pub fn task_id(&self, name: &str) -> SuiteResult<TaskId> {
        let named = self.state.tasks().filter(|task| task.spec.name == name).last();
        Ok(named.ok_or_else(|| Violation::new("the task is there", name))?.id)
    }

    /// Returns the effect owed for a task.
    pub fn owed_effect(&self, name: &str) -> SuiteResult<Effect> {
        let id = self.task_id(name)?;
        let owed = self.state.outstanding_effects().into_iter().rfind(|effect| effect.task == id);
        Ok(owed.ok_or_else(|| Violation::new("something is owed", name))?)
    }

    /// Settles the effect owed for a task with this outcome.
    pub async fn settle_effect(
        &mut self,
        name: &str,
        outcome: EffectOutcome,
    ) -> SuiteResult<Vec<RecordedEvent>> {
        let effect = self.owed_effect(name)?.id;
        let spent = Amount { money_micros: 5, tokens: 7, time_ms: 11 };
        self.decide_durably(Command::Settle { effect, outcome, spent }).await
    }

    /// Settles an attempt with a new approach.
    pub async fn settle_attempt(&mut self, name: &str) -> SuiteResult {
        self.approaches += 1;
        let approach = Arc::new(make_approach(self.approaches));
        self.settle_effect(name, EffectOutcome::Attempted { approach }).await?;
        Ok(())
    }

    /// Settles an attempt, and fails its check.
    pub async fn fail_check(&mut self, name: &str, error: &str) -> SuiteResult {
        self.settle_attempt(name).await?;
        let fault = Arc::new(make_fault(Code::ValidationPreCommit, error));
        let approach = Some(Arc::new(make_approach(self.approaches)));
        self.settle_effect(name, EffectOutcome::Failed { fault, approach }).await?;
        Ok(())
    }

    /// Fails a task because a service refuses the agent's key: a person is asked immediately.
    pub async fn fail_authentication(&mut self, name: &str) -> SuiteResult<QuestionId> {
        let fault = Arc::new(make_fault(Code::AuthInvalid, "403 from api-7f3"));
        self.settle_effect(name, EffectOutcome::Failed { fault, approach: None }).await?;
        let asked = self.state.questions().last().map(|question| question.id);
        Ok(asked.ok_or_else(|| Violation::new("a question is open", "none"))?)
    }

    /// Fails a task because of something that only a person can allow.
    pub async fn fail_permission(&mut self, name: &str) -> SuiteResult {
        let fault = Arc::new(make_fault(Code::PermissionCommandBlocked, "not allowed"));
        self.settle_effect(name, EffectOutcome::Failed { fault, approach: None }).await?;
        Ok(())
    }

    /// Takes up the waiting answers.
    pub async fn take_answers(&mut self) -> SuiteResult<usize> {
        let waiting = self.journal.load_pending_answers().await?;
        for answer in &waiting {
            let Answer { question, decision, guidance, by, .. } = answer.clone();
            let mut batch =
                self.decide_command(Command::Answer { question, decision, guidance, by })?;
            batch.taken.push(question);
            self.journal.append_batch(batch).wait_until_durable().await?;
        }
        self.check_replay().await?;
        Ok(waiting.len())
    }
}

pub(super) fn make_answer(question: QuestionId, decision: Decision, by: &str) -> Answer {
    let guidance = Some(Arc::from("mind the gap"));
    Answer { question, decision, guidance, by: Arc::from(by), at: Time::from_millis(77) }
}

/// Creates a plain task.
pub fn make_task(name: &str) -> TaskSpec {
    TaskSpec {
        name: name.to_owned(),
        title: format!("Task {name}"),
        goal: format!("Do {name}"),
        ..TaskSpec::default()
    }
}

/// Creates an action without a probe.
pub(super) fn make_action(key: &str) -> Arc<MutationSpec> {
    Arc::new(MutationSpec { key: key.to_owned(), ..MutationSpec::default() })
}

fn make_approach(number: u64) -> Approach {
    let summary = format!("approach {number}");
    Approach { digest: Some(Digest(number)), summary, files_changed: 1, ..Approach::default() }
}

/// Creates a bare fault of a code; the message decides which error it is.
pub fn make_fault(code: Code, error: &str) -> Fault {
    let mut fault = Fault::new(Kind::bare(code), "test", error);
    fault.signature = Signature::from_parts(code, "test", &[error]);
    fault
}
