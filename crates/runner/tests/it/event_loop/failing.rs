//! A disk that fails or is full: nothing acts, nothing is lost, nothing happens twice.

use std::sync::Arc;

use tokio::sync::Semaphore;
use unstuck_core::engine::{BuildId, Command, EffectKind, EffectOutcome, State};
use unstuck_core::fault::{Auth, Fault};
use unstuck_runner::{CommandError, RunnerNotice};
use unstuck_store::{Store as _, StoreError};

use crate::event_loop::virtual_loop::{Reaction, Stage, all_well, goes_well};

#[tokio::test(start_paused = true)]
async fn a_command_that_cannot_be_written_did_not_happen() {
    let stage = Stage::new(all_well).await;
    stage.store.fail_next(1);
    let plan = unstuck_core::plan::Plan::new(vec![unstuck_core::plan::TaskSpec {
        name: "a".into(),
        ..Default::default()
    }]);
    let start = Command::StartBuild { plan: Arc::new(plan.unwrap()), slots: 1, in_place: false };
    let failed = stage.handle.submit_command(start.clone()).await.unwrap_err();
    assert!(matches!(failed, CommandError::Store(StoreError::NotWritten { .. })), "{failed}");
    assert_eq!(stage.look(State::seq).await, 0);
    assert_eq!(stage.performed(|_| true), 0);
    stage.submit(start).await;
    stage.completed().await;
}

// T0.16
#[tokio::test(start_paused = true)]
async fn a_question_that_cannot_be_stored_is_stored_once_when_it_can_be() {
    let permit = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&permit);
    let mut stage = Stage::new(move |order, _| {
        let fault = Fault::auth_invalid("agent", "401", Auth::default());
        let refused = EffectOutcome::Failed { fault: Arc::new(fault), approach: None };
        match order.effect.what {
            EffectKind::Attempt { .. } => Reaction::Waits(Arc::clone(&told), refused),
            _ => Reaction::Ends(goes_well(order)),
        }
    })
    .await;
    stage.build(1, 1).await;
    stage.started.recv().await.unwrap();
    let mut notices = stage.handle.subscribe_notices();
    stage.store.set_full(true);
    permit.add_permits(1);
    let waiting = notices.recv().await.unwrap();
    assert!(matches!(waiting, RunnerNotice::StoreWaiting { .. }), "{waiting:?}");
    assert!(stage.store.load_questions("shop", None).await.unwrap().is_empty());
    stage.store.set_full(false);
    stage.wait_until(|state| state.questions().count() == 1).await;
    let (store, _) = stage.crash().await;
    let questions = store.load_questions("shop", None).await.unwrap();
    assert_eq!(questions.len(), 1, "{questions:?}");
}

#[tokio::test(start_paused = true)]
async fn the_result_of_an_effect_is_kept_and_written_when_that_is_possible_again() {
    let permit = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&permit);
    let mut stage = Stage::new(move |order, _| match order.effect.what {
        EffectKind::Attempt { .. } => Reaction::Waits(Arc::clone(&told), goes_well(order)),
        _ => Reaction::Ends(goes_well(order)),
    })
    .await;
    stage.build(1, 1).await;
    stage.started.recv().await.unwrap();
    let mut notices = stage.handle.subscribe_notices();
    stage.store.set_full(true);
    permit.add_permits(1);
    let waiting = notices.recv().await.unwrap();
    assert!(matches!(waiting, RunnerNotice::StoreWaiting { .. }), "{waiting:?}");
    stage.store.set_full(false);
    stage.completed().await;
    assert_eq!(stage.performed(|what| matches!(what, EffectKind::Attempt { .. })), 1);
    assert_eq!(stage.performed(|what| *what == EffectKind::Commit), 1);
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_a_failed_write_is_decided_on_what_is_on_disk() {
    let stage = Stage::new(|_, _| Reaction::Hangs).await;
    stage.build(2, 1).await;
    let build = BuildId(0);
    stage.store.fail_next(1);
    let (one, two) = tokio::join!(
        stage.handle.submit_command(Command::Pause { build }),
        stage.handle.submit_command(Command::Resume { build }),
    );
    assert!(matches!(one, Err(CommandError::Store(_))), "{one:?}");
    assert!(matches!(two, Err(CommandError::Rejected(_))), "the pause never was: {two:?}");
    stage.submit(Command::Pause { build }).await;
}
