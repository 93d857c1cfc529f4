//! An action happens at most once, whatever dies on the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use tokio::sync::Semaphore;
use unstuck_core::engine::{EffectId, EffectKind, EffectOutcome, QuestionId, TaskId, TaskState};
use unstuck_core::fault::{Fault, Http};
use unstuck_core::plan::MutationSpec;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::time::Time;
use unstuck_runner::{ActionResult, CommandError, EffectRequest, LedgerAction, RunnerSetup};
use unstuck_store::{Answer, MemoryStore, Store as _};

use crate::event_loop::virtual_loop::{Reaction, Stage, goes_well};

/// A payment: what reaches the bank stays there.
#[derive(Default)]
struct Payment {
    paid: AtomicU32,
    /// The trouble of the next calls; then they go well.
    trouble: AtomicU32,
    keys: std::sync::Mutex<Vec<String>>,
}

const FAILS: u32 = 1;
const LOST_ON_THE_WAY_BACK: u32 = 2;
const LOST_ON_THE_WAY_OUT: u32 = 3;
const NOT_KNOWABLE: u32 = 4;

#[async_trait]
impl LedgerAction for Payment {
    async fn perform_call(&self, idempotency_key: &str) -> EffectOutcome {
        self.keys.lock().unwrap().push(idempotency_key.to_owned());
        let trouble = self.trouble.load(Ordering::SeqCst);
        if trouble != NOT_KNOWABLE {
            self.trouble.store(0, Ordering::SeqCst);
        }
        let fault = || Arc::new(Fault::network_timeout("bank", "no answer", Http::default()));
        match trouble {
            FAILS => EffectOutcome::Failed { fault: fault(), approach: None },
            LOST_ON_THE_WAY_OUT => EffectOutcome::Unknown { fault: fault() },
            LOST_ON_THE_WAY_BACK | NOT_KNOWABLE => {
                self.paid.fetch_add(1, Ordering::SeqCst);
                EffectOutcome::Unknown { fault: fault() }
            }
            _ => {
                self.paid.fetch_add(1, Ordering::SeqCst);
                EffectOutcome::Applied { result: Arc::from("receipt 1") }
            }
        }
    }

    async fn probe_outcome(&self, _idempotency_key: &str) -> EffectOutcome {
        match self.paid.load(Ordering::SeqCst) {
            _ if self.trouble.load(Ordering::SeqCst) == NOT_KNOWABLE => {
                EffectOutcome::CannotTell { said: None }
            }
            0 => EffectOutcome::NotApplied,
            _ => EffectOutcome::Applied { result: Arc::from("receipt 1") },
        }
    }
}

fn pay(arguments: u64) -> MutationSpec {
    MutationSpec { key: "pay".into(), arguments, probe: true, ..MutationSpec::default() }
}

/// A job whose script runs and asks for actions.
async fn job() -> (Stage, EffectId, Arc<Semaphore>) {
    job_of("shop").await
}

async fn job_of(project: &str) -> (Stage, EffectId, Arc<Semaphore>) {
    let ends = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&ends);
    let rule = move |order: &EffectRequest, _| match order.effect.what {
        EffectKind::Execute { .. } => Reaction::Waits(Arc::clone(&told), EffectOutcome::Done),
        _ => Reaction::Ends(goes_well(order)),
    };
    let named = |setup: &mut RunnerSetup| setup.project = project.into();
    let mut stage = Stage::with(MemoryStore::new(), Arc::default(), named, rule).await;
    stage.fire_job("invoice").await;
    let effect = stage.started.recv().await.unwrap().effect.id;
    (stage, effect, ends)
}

// TX8
#[tokio::test(start_paused = true)]
async fn the_same_key_again_gets_the_recorded_result() {
    let (stage, effect, _ends) = job().await;
    let bank = Arc::new(Payment::default());
    for _ in 0..3 {
        let settled =
            stage.handle.perform_action(effect, pay(7), Arc::clone(&bank) as _).await.unwrap();
        assert_eq!(settled, ActionResult::Applied(Arc::from("receipt 1")));
    }
    assert_eq!(bank.paid.load(Ordering::SeqCst), 1);
    let other =
        stage.handle.perform_action(effect, pay(8), Arc::clone(&bank) as _).await.unwrap_err();
    assert!(matches!(other, CommandError::Rejected(_)), "{other}");
    assert_eq!(bank.paid.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn what_certainly_failed_may_be_sent_again_under_the_same_idempotency_key() {
    let (stage, effect, _ends) = job().await;
    let bank = Arc::new(Payment::default());
    bank.trouble.store(FAILS, Ordering::SeqCst);
    let settled =
        stage.handle.perform_action(effect, pay(7), Arc::clone(&bank) as _).await.unwrap();
    assert!(matches!(settled, ActionResult::Failed(_)), "{settled:?}");
    let settled =
        stage.handle.perform_action(effect, pay(7), Arc::clone(&bank) as _).await.unwrap();
    assert!(matches!(settled, ActionResult::Applied(_)), "{settled:?}");
    let keys = bank.keys.lock().unwrap().clone();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
}

// Both call the same bank, for the same job.
#[tokio::test(start_paused = true)]
async fn two_projects_do_not_share_an_idempotency_key() {
    let bank = Arc::new(Payment::default());
    for project in ["shop", "other shop"] {
        let (stage, effect, _ends) = job_of(project).await;
        let settled =
            stage.handle.perform_action(effect, pay(7), Arc::clone(&bank) as _).await.unwrap();
        assert!(matches!(settled, ActionResult::Applied(_)), "{settled:?}");
    }
    let keys = bank.keys.lock().unwrap().clone();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}

// TX6
#[tokio::test(start_paused = true)]
async fn what_was_lost_is_looked_up_and_sent_again_only_if_it_is_not_there() {
    for (trouble, calls) in [(LOST_ON_THE_WAY_BACK, 1), (LOST_ON_THE_WAY_OUT, 2)] {
        let (stage, effect, _ends) = job().await;
        let bank = Arc::new(Payment::default());
        bank.trouble.store(trouble, Ordering::SeqCst);
        let settled =
            stage.handle.perform_action(effect, pay(7), Arc::clone(&bank) as _).await.unwrap();
        assert_eq!(settled, ActionResult::Applied(Arc::from("receipt 1")));
        assert_eq!(bank.paid.load(Ordering::SeqCst), 1);
        assert_eq!(bank.keys.lock().unwrap().len(), calls);
    }
}

// T3.12
#[tokio::test(start_paused = true)]
async fn where_no_probe_can_tell_a_person_does_and_it_is_never_repeated() {
    let (stage, effect, ends) = job().await;
    let bank = Arc::new(Payment::default());
    bank.trouble.store(NOT_KNOWABLE, Ordering::SeqCst);
    for _ in 0..2 {
        let settled =
            stage.handle.perform_action(effect, pay(7), Arc::clone(&bank) as _).await.unwrap();
        assert_eq!(settled, ActionResult::NeedsPerson);
    }
    ends.add_permits(1);
    stage.wait_until(|state| state.questions().count() == 1).await;
    let question = stage.look(|state| state.questions().next().unwrap().kind).await;
    assert_eq!(question, QuestionKind::Happened);
    let answer = Answer {
        question: QuestionId(0),
        decision: Decision::ItHappened,
        guidance: Some(Arc::from("receipt from the bank's page")),
        by: Arc::from("ada"),
        at: Time::from_millis(1),
    };
    stage.store.record_answer("shop", answer).await.unwrap();
    stage.handle.take_answers().await.unwrap();
    stage.wait_until(|state| state.tasks().all(|task| task.state == TaskState::Done)).await;
    let known = stage.store.load_task_mutations("shop", TaskId(0)).await.unwrap();
    assert_eq!(&*known[0].result, "receipt from the bank's page");
    assert_eq!(bank.paid.load(Ordering::SeqCst), 1);
}
