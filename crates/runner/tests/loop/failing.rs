//! A disk that fails or is full: nothing acts, nothing is lost, nothing happens twice.

use std::sync::Arc;

use tokio::sync::Semaphore;
use unstuck_core::engine::{BuildId, Command, Outcome, State, Work};
use unstuck_core::fault::{Auth, Fault};
use unstuck_runner::{CommandError, Notice};
use unstuck_store::{Store as _, StoreError};

use crate::stage::{Reaction, Stage, goes_well};

#[tokio::test(start_paused = true)]
async fn a_command_that_cannot_be_written_did_not_happen() {
    let stage = Stage::new(|order, _| Reaction::Ends(goes_well(order))).await;
    stage.store.fail_next(1);
    let plan = unstuck_core::plan::Plan::new(vec![unstuck_core::plan::TaskSpec {
        name: "a".into(),
        ..Default::default()
    }]);
    let start = Command::StartBuild { plan: Arc::new(plan.unwrap()), slots: 1, in_place: false };
    let failed = stage.handle.command(start.clone()).await.unwrap_err();
    assert!(matches!(failed, CommandError::Store(StoreError::NotWritten { .. })), "{failed}");
    assert_eq!(stage.look(State::seq).await, 0);
    assert_eq!(stage.performed(|_| true), 0);
    stage.handle.command(start).await.unwrap();
    stage.completed().await;
}

// T0.16
#[tokio::test(start_paused = true)]
async fn a_question_that_cannot_be_stored_is_stored_once_when_it_can_be() {
    let permit = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&permit);
    let mut stage = Stage::new(move |order, _| {
        let fault = Fault::auth_invalid("agent", "401", Auth::default());
        let refused = Outcome::Failed { fault: Arc::new(fault), approach: None };
        match order.effect.what {
            Work::Attempt { .. } => Reaction::Waits(Arc::clone(&told), refused),
            _ => Reaction::Ends(goes_well(order)),
        }
    })
    .await;
    stage.build(1, 1).await;
    stage.started.recv().await.unwrap();
    let mut notices = stage.handle.watch();
    stage.store.fill(true);
    permit.add_permits(1);
    let waiting = notices.recv().await.unwrap();
    assert!(matches!(waiting, Notice::StoreWaiting { .. }), "{waiting:?}");
    assert!(stage.store.questions("shop", None).await.unwrap().is_empty());
    stage.store.fill(false);
    stage.until(|state| state.questions().count() == 1).await;
    let (store, _) = stage.crash().await;
    let questions = store.questions("shop", None).await.unwrap();
    assert_eq!(questions.len(), 1, "{questions:?}");
}

#[tokio::test(start_paused = true)]
async fn the_result_of_an_effect_is_kept_and_written_when_that_is_possible_again() {
    let permit = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&permit);
    let mut stage = Stage::new(move |order, _| match order.effect.what {
        Work::Attempt { .. } => Reaction::Waits(Arc::clone(&told), goes_well(order)),
        _ => Reaction::Ends(goes_well(order)),
    })
    .await;
    stage.build(1, 1).await;
    stage.started.recv().await.unwrap();
    let mut notices = stage.handle.watch();
    stage.store.fill(true);
    permit.add_permits(1);
    let waiting = notices.recv().await.unwrap();
    assert!(matches!(waiting, Notice::StoreWaiting { .. }), "{waiting:?}");
    stage.store.fill(false);
    stage.completed().await;
    assert_eq!(stage.performed(|what| matches!(what, Work::Attempt { .. })), 1);
    assert_eq!(stage.performed(|what| *what == Work::Commit), 1);
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_a_failed_write_is_decided_on_what_is_on_disk() {
    let stage = Stage::new(|_, _| Reaction::Hangs).await;
    stage.build(2, 1).await;
    let build = BuildId(0);
    stage.store.fail_next(1);
    let (one, two) = tokio::join!(
        stage.handle.command(Command::Pause { build }),
        stage.handle.command(Command::Resume { build }),
    );
    assert!(matches!(one, Err(CommandError::Store(_))), "{one:?}");
    assert!(matches!(two, Err(CommandError::Rejected(_))), "the pause never was: {two:?}");
    stage.handle.command(Command::Pause { build }).await.unwrap();
}
