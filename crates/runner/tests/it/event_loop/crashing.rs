//! Kill it anywhere: it goes on as if it had not been.

use std::sync::Arc;

use tokio::sync::Semaphore;
use unstuck_core::engine::{Command, EffectKind, Event};
use unstuck_store::Store as _;

use crate::event_loop::virtual_loop::{Reaction, Stage, all_well, goes_well};

// T1.3, B13
#[tokio::test(start_paused = true)]
async fn what_was_running_is_cleared_away_and_taken_up_again() {
    let mut stage = Stage::new(|_, _| Reaction::Hangs).await;
    stage.build(3, 3).await;
    for _ in 0..3 {
        stage.started.recv().await.unwrap();
    }
    let (store, clock) = stage.crash().await;
    let stage = Stage::on(store, clock, all_well).await;
    stage.completed().await;
    assert_eq!(stage.world.cleared.lock().unwrap().len(), 3);
    let resumed = |what: &EffectKind| {
        matches!(what, EffectKind::Attempt { start: unstuck_core::engine::Start::Resume })
    };
    assert_eq!(stage.performed(resumed), 3, "the same worktree and conversation");
}

/// Effects that are performed at the same time.
const AT_ONCE: usize = 512;

// B10
#[tokio::test(start_paused = true)]
async fn ten_thousand_come_back_in_turns_and_finish_once() {
    let gate = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&gate);
    let mut stage =
        Stage::new(move |order, _| Reaction::Waits(Arc::clone(&told), goes_well(order))).await;
    stage.build(10_000, 10_000).await;
    stage.started.recv().await.unwrap();
    let (store, clock) = stage.crash().await;
    let gate = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&gate);
    let mut stage = Stage::on(store, clock, move |order, _| {
        Reaction::Waits(Arc::clone(&told), goes_well(order))
    })
    .await;
    for _ in 0..AT_ONCE {
        stage.started.recv().await.unwrap();
    }
    let asked = stage.look(|state| state.outstanding_effects().len()).await;
    assert_eq!(asked, 10_000, "all of them are owed");
    assert!(stage.started.try_recv().is_err(), "the others take their turns");
    gate.add_permits(Semaphore::MAX_PERMITS);
    stage.completed().await;
    for wanted in [EffectKind::Check, EffectKind::Commit, EffectKind::Emit] {
        assert_eq!(stage.performed(|what| *what == wanted), 10_000);
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_in_order_is_no_crash() {
    let mut stage = Stage::new(|_, _| Reaction::Hangs).await;
    stage.build(1, 1).await;
    stage.started.recv().await.unwrap();
    stage.handle.shut_down(false).await;
    stage.project.running.await.unwrap().unwrap();
    let stage = Stage::on(stage.project.store, stage.clock, all_well).await;
    stage.completed().await;
    let crashed = |event| match event {
        Event::RunCrashed { clean, .. } => Some(clean),
        _ => None,
    };
    assert_eq!(stage.find_events(crashed).await, [true]);
}

#[tokio::test(start_paused = true)]
async fn the_performer_is_gone_and_another_goes_on() {
    let mut stage = Stage::new(|order, times| match order.effect.what {
        EffectKind::Attempt { .. } if times == 1 => Reaction::Hangs,
        _ => Reaction::Ends(goes_well(order)),
    })
    .await;
    stage.build(1, 1).await;
    stage.started.recv().await.unwrap();
    stage.handle.detach_performer(1).await.unwrap();
    stage.wait_until(|state| state.tasks().all(|task| task.counters.crashes == 1)).await;
    let world = Arc::clone(&stage.world) as _;
    stage.handle.attach_performer(unstuck_runner::PerformScope::Project, world).await.unwrap();
    stage.completed().await;
}

// TX9: a person's pause is no failure and charges nothing, a crash in between included.
#[tokio::test(start_paused = true)]
async fn a_pause_survives_a_crash() {
    let stage = Stage::new(|_, _| Reaction::Hangs).await;
    stage.build(1, 1).await;
    let build = unstuck_core::engine::BuildId(0);
    stage.submit(Command::Pause { build }).await;
    let (store, clock) = stage.crash().await;
    let stage = Stage::on(store, clock, all_well).await;
    assert_eq!(stage.performed(|_| true), 0);
    stage.submit(Command::Resume { build }).await;
    stage.completed().await;
    let signatures = stage.store.load_signatures("shop").await.unwrap();
    assert_eq!(signatures, []);
}
