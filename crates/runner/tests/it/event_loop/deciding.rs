//! Nothing acts before its record is on disk, and everything happens once.

use std::sync::Arc;

use unstuck_core::engine::{BuildId, Command, EffectKind, Event, State};
use unstuck_runner::{CommandError, RunnerNotice};
use unstuck_store::{MemoryStore, Store as _};

use crate::event_loop::virtual_loop::{Reaction, Stage, all_well, goes_well};

#[tokio::test(start_paused = true)]
async fn a_build_runs_to_its_end_and_each_effect_is_performed_once() {
    let stage = Stage::new(all_well).await;
    stage.build(20, 4).await;
    stage.completed().await;
    for wanted in [EffectKind::Check, EffectKind::Commit, EffectKind::Emit] {
        assert_eq!(stage.performed(|what| *what == wanted), 20);
    }
    assert_eq!(stage.performed(|what| matches!(what, EffectKind::Attempt { .. })), 20);
}

#[tokio::test(start_paused = true)]
async fn no_effect_is_performed_before_the_event_that_asked_for_it_is_durable() {
    let store = MemoryStore::new();
    let seen = store.clone();
    let stage = Stage::on(store, Arc::default(), move |order, _| {
        let durable = *seen.subscribe_to_project("shop").borrow();
        assert!(order.effect.id.0 <= durable, "{} is ahead of {durable}", order.effect.id);
        Reaction::Ends(goes_well(order))
    })
    .await;
    stage.build(50, 8).await;
    stage.completed().await;
}

#[tokio::test(start_paused = true)]
async fn a_reply_comes_when_the_decision_is_durable_and_watchers_hear_of_it_in_order() {
    let stage = Stage::new(|_, _| Reaction::Hangs).await;
    let mut notices = stage.handle.subscribe_notices();
    stage.build(3, 1).await;
    let durable = stage.events().await;
    for recorded in &durable {
        let RunnerNotice::Event { recorded: told, .. } = notices.recv().await.unwrap() else {
            panic!("something else was told")
        };
        assert_eq!(*told, *recorded);
    }
    assert!(matches!(durable[0].event, Event::BuildStarted { .. }));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_refused_and_changes_nothing() {
    let stage = Stage::new(|_, _| Reaction::Hangs).await;
    let refused =
        stage.handle.submit_command(Command::Pause { build: BuildId(7) }).await.unwrap_err();
    assert!(matches!(refused, CommandError::Rejected(_)), "{refused}");
    assert_eq!(stage.look(State::seq).await, 0);
    assert_eq!(stage.events().await, []);
}

#[tokio::test(start_paused = true)]
async fn an_effect_without_a_performer_waits_for_one() {
    let stage = Stage::alone(MemoryStore::new(), Arc::default(), |_| (), all_well).await;
    stage.build(2, 2).await;
    assert_eq!(stage.performed(|_| true), 0);
    let world = Arc::clone(&stage.world) as _;
    stage
        .handle
        .attach_performer(unstuck_runner::PerformScope::Build(BuildId(0)), world)
        .await
        .unwrap();
    stage.completed().await;
    assert_eq!(stage.performed(|what| matches!(what, EffectKind::Attempt { .. })), 2);
    let crashes = stage.look(|s| s.tasks().map(|t| t.counters.crashes).sum::<u32>()).await;
    assert_eq!(crashes, 0, "no performer had begun, so nothing crashed");
}
