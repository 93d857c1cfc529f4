//! Answers are rows in the store: taken up at once, or at the next start, once.

use std::sync::Arc;

use unstuck_core::engine::{EffectKind, EffectOutcome, QuestionId, TaskState};
use unstuck_core::fault::{Auth, Fault};
use unstuck_core::question::Decision;
use unstuck_core::time::Time;
use unstuck_runner::EffectRequest;
use unstuck_store::tables::QuestionStatus;
use unstuck_store::{Answer, Store as _};

use crate::event_loop::virtual_loop::{Reaction, Stage, all_well, goes_well};

fn locked_out_once(order: &EffectRequest, times: u32) -> Reaction {
    match order.effect.what {
        EffectKind::Attempt { .. } if times == 1 && order.task.name == "task 0" => {
            let fault = Fault::auth_invalid("agent", "401", Auth::default());
            Reaction::Ends(EffectOutcome::Failed { fault: Arc::new(fault), approach: None })
        }
        _ => Reaction::Ends(goes_well(order)),
    }
}

fn fixed_it() -> Answer {
    Answer {
        question: QuestionId(0),
        decision: Decision::ProvideCredentials,
        guidance: None,
        by: Arc::from("ada"),
        at: Time::from_millis(1),
    }
}

async fn parked() -> Stage {
    let stage = Stage::new(locked_out_once).await;
    stage.build(3, 1).await;
    stage
        .wait_until(|s| {
            let parked = s.tasks().filter(|t| matches!(t.state, TaskState::Parked { .. })).count();
            parked == 1 && s.tasks().filter(|t| t.state == TaskState::Done).count() == 2
        })
        .await;
    stage
}

// T1.3, T2.4: the others went on while the question was open.
#[tokio::test(start_paused = true)]
async fn an_answer_is_taken_up_at_once() {
    let stage = parked().await;
    stage.store.record_answer("shop", fixed_it()).await.unwrap();
    stage.handle.take_answers().await.unwrap();
    stage.completed().await;
    let question = stage.store.load_question("shop", QuestionId(0)).await.unwrap().unwrap();
    assert_eq!(question.status, QuestionStatus::Resolved);
    assert_eq!(question.answered_by.as_deref(), Some("ada"));
}

// B6
#[tokio::test(start_paused = true)]
async fn an_answer_given_while_no_process_runs_is_taken_up_at_the_next_start() {
    let (store, clock) = parked().await.crash().await;
    store.record_answer("shop", fixed_it()).await.unwrap();
    let stage = Stage::on(store, clock, all_well).await;
    stage.completed().await;
    let again = stage.store.record_answer("shop", fixed_it()).await.unwrap_err();
    assert_eq!(again, unstuck_store::AnswerError::Answered(QuestionId(0)));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_taken_up_but_not_written_is_taken_up_again() {
    let stage = parked().await;
    stage.store.record_answer("shop", fixed_it()).await.unwrap();
    stage.store.fail_next(1);
    stage.handle.take_answers().await.unwrap_err();
    stage.completed().await;
    assert_eq!(stage.performed(|what| matches!(what, EffectKind::Attempt { .. })), 4);
}
