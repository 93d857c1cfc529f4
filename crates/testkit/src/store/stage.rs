//! The fixture of the store suite: a project and a clock; every decision is written immediately.

use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{
    Command, Effect, Outcome, QuestionId, Recorded, Rng, State, TaskId, decide,
};
use unstuck_core::fault::{Code, Fault, Kind};
use unstuck_core::plan::{MutationSpec, Plan, TaskSpec};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::Decision;
use unstuck_core::signature::Signature;
use unstuck_core::time::{Span, Time};
use unstuck_store::{Answer, Batch, Claim, Holder, Journal, Page, Store};

use super::{Checked, Place, same};
use crate::check::Violation;

/// The project of all tests.
pub const PROJECT: &str = "sim";

/// Returns a holder of a project.
pub fn holder(verb: &str) -> Holder {
    Holder { pid: 4711, verb: verb.to_owned(), since: Time::from_millis(1) }
}

/// The fixture of a project.
#[derive(Debug)]
pub struct Stage {
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

impl Stage {
    /// Creates a new project.
    pub async fn new(place: &dyn Place) -> Checked<Self> {
        let store = place.open();
        let Claim { state, journal, clean } = store.claim(PROJECT, &holder("run")).await?;
        same("a new project was never left badly", &clean, &true)?;
        Ok(Self { store, state, journal, now: Time::from_millis(1_000_000), approaches: 0 })
    }

    /// Simulates a crash, and opens the project again.
    pub async fn die(self, place: &dyn Place) -> Checked<Self> {
        let Self { store, state, journal, now, approaches } = self;
        drop((journal, store));
        let next = Self { now, approaches, ..Self::open_again(place, false).await? };
        same("the state after a death is the one before", &next.state, &state)?;
        Ok(next)
    }

    /// Closes the project cleanly, and opens it again.
    pub async fn hand_over(self, place: &dyn Place) -> Checked<Self> {
        let Self { store, state, journal, now, approaches } = self;
        journal.close(&state).await?;
        drop(store);
        let next = Self { now, approaches, ..Self::open_again(place, true).await? };
        same("the state after an end is the one before", &next.state, &state)?;
        Ok(next)
    }

    async fn open_again(place: &dyn Place, wanted: bool) -> Checked<Self> {
        let store = place.open();
        let Claim { state, journal, clean } = store.claim(PROJECT, &holder("run")).await?;
        same("how the last one ended is remembered", &clean, &wanted)?;
        Ok(Self { store, state, journal, now: Time::EPOCH, approaches: 0 })
    }

    /// Decides and waits until that is durable; then checks that the journal adds up to the state.
    pub async fn must(&mut self, command: Command) -> Checked<Vec<Recorded>> {
        let batch = self.decided(command)?;
        let events = batch.events.clone();
        self.journal.append(batch).durable().await?;
        self.adds_up().await?;
        Ok(events)
    }

    /// Decides without writing.
    pub fn decided(&mut self, command: Command) -> Checked<Batch> {
        self.now = self.now + Span::from_secs(1);
        let mut rng = Rng::at(PROJECT, self.state.seq());
        let policy = Policy::default();
        let events = decide(&mut self.state, command, &policy, self.now, &mut rng)?;
        Ok(Batch::new(&self.state, events))
    }

    async fn adds_up(&self) -> Checked {
        let mut replayed = State::new(PROJECT);
        let page = Page { after: 0, limit: u32::MAX };
        for recorded in self.store.events(PROJECT, page).await? {
            replayed.apply(&recorded);
        }
        same("the journal adds up to the state", &replayed, &self.state)
    }

    /// Starts a build of plain tasks that may all start.
    pub async fn build(&mut self, tasks: Vec<TaskSpec>) -> Checked {
        let plan = Arc::new(Plan::new(tasks)?);
        self.must(Command::StartBuild { plan, slots: 100, in_place: false }).await?;
        Ok(())
    }

    /// Returns the latest task of that name.
    pub fn id(&self, name: &str) -> Checked<TaskId> {
        let named = self.state.tasks().filter(|task| task.spec.name == name).last();
        Ok(named.ok_or_else(|| Violation::new("the task is there", name))?.id)
    }

    /// Returns the effect owed for a task.
    pub fn owed(&self, name: &str) -> Checked<Effect> {
        let id = self.id(name)?;
        let owed = self.state.outstanding().into_iter().rfind(|effect| effect.task == id);
        Ok(owed.ok_or_else(|| Violation::new("something is owed", name))?)
    }

    /// Settles the effect owed for a task with this outcome.
    pub async fn settle(&mut self, name: &str, outcome: Outcome) -> Checked<Vec<Recorded>> {
        let effect = self.owed(name)?.id;
        let spent = Amount { money_micros: 5, tokens: 7, time_ms: 11 };
        self.must(Command::Settle { effect, outcome, spent }).await
    }

    /// Settles an attempt with a new approach.
    pub async fn attempt(&mut self, name: &str) -> Checked {
        self.approaches += 1;
        let approach = Arc::new(approach(self.approaches));
        self.settle(name, Outcome::Attempted { approach }).await?;
        Ok(())
    }

    /// Settles an attempt, and fails its check.
    pub async fn red(&mut self, name: &str, error: &str) -> Checked {
        self.attempt(name).await?;
        let fault = Arc::new(fault(Code::ValidationPreCommit, error));
        let approach = Some(Arc::new(approach(self.approaches)));
        self.settle(name, Outcome::Failed { fault, approach }).await?;
        Ok(())
    }

    /// Fails a task because a service refuses the agent's key: a person is asked immediately.
    pub async fn refused(&mut self, name: &str) -> Checked<QuestionId> {
        let fault = Arc::new(fault(Code::AuthInvalid, "403 from api-7f3"));
        self.settle(name, Outcome::Failed { fault, approach: None }).await?;
        let asked = self.state.questions().last().map(|question| question.id);
        Ok(asked.ok_or_else(|| Violation::new("a question is open", "none"))?)
    }

    /// Fails a task because of something that only a person can allow.
    pub async fn settle_otherwise(&mut self, name: &str) -> Checked {
        let fault = Arc::new(fault(Code::PermissionCommandBlocked, "not allowed"));
        self.settle(name, Outcome::Failed { fault, approach: None }).await?;
        Ok(())
    }

    /// Takes up the waiting answers.
    pub async fn take_answers(&mut self) -> Checked<usize> {
        let waiting = self.journal.answers().await?;
        for answer in &waiting {
            let Answer { question, decision, guidance, by, .. } = answer.clone();
            let mut batch = self.decided(Command::Answer { question, decision, guidance, by })?;
            batch.taken.push(question);
            self.journal.append(batch).durable().await?;
        }
        self.adds_up().await?;
        Ok(waiting.len())
    }
}

/// Creates a person's answer.
pub(super) fn answer(question: QuestionId, decision: Decision, by: &str) -> Answer {
    let guidance = Some(Arc::from("mind the gap"));
    Answer { question, decision, guidance, by: Arc::from(by), at: Time::from_millis(77) }
}

/// Creates a plain task.
pub fn task(name: &str) -> TaskSpec {
    TaskSpec {
        name: name.to_owned(),
        title: format!("Task {name}"),
        goal: format!("Do {name}"),
        ..TaskSpec::default()
    }
}

/// Creates an action without a probe.
pub(super) fn action(key: &str) -> Arc<MutationSpec> {
    Arc::new(MutationSpec { key: key.to_owned(), ..MutationSpec::default() })
}

fn approach(number: u64) -> Approach {
    let summary = format!("approach {number}");
    Approach { digest: Some(Digest(number)), summary, files_changed: 1, ..Approach::default() }
}

/// Creates a bare fault of a code; the message decides which error it is.
pub(super) fn fault(code: Code, error: &str) -> Fault {
    let mut fault = Fault::new(Kind::bare(code), "test", error);
    fault.signature = Signature::of_parts(code, "test", &[error]);
    fault
}
