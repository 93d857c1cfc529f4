//! Ending: what cannot be interrupted is finished and recorded.

use std::sync::Arc;

use tokio::sync::Semaphore;
use unstuck_core::engine::{EffectKind, TaskState};
use unstuck_core::plan::{MutationSpec, TaskSpec};

use crate::event_loop::virtual_loop::{Reaction, Stage, all_well, goes_well};

#[tokio::test(start_paused = true)]
async fn an_action_under_way_is_waited_for() {
    let permit = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&permit);
    let mut stage = Stage::new(move |order, _| match order.effect.what {
        EffectKind::Perform { .. } => Reaction::Waits(Arc::clone(&told), goes_well(order)),
        _ => Reaction::Ends(goes_well(order)),
    })
    .await;
    let mutation = MutationSpec { key: "pay".into(), ..MutationSpec::default() };
    let task =
        TaskSpec { name: "a".into(), mutations: vec![Arc::new(mutation)], ..TaskSpec::default() };
    stage.start_build(vec![task], 1).await;
    while !matches!(stage.started.recv().await.unwrap().effect.what, EffectKind::Perform { .. }) {}
    stage.handle.shut_down(false).await;
    permit.add_permits(1);
    stage.project.running.await.unwrap().unwrap();
    let stage = Stage::on(stage.project.store, stage.clock, all_well).await;
    stage.wait_until(|state| state.tasks().all(|task| task.state == TaskState::Done)).await;
    let performed = stage.performed(|what| matches!(what, EffectKind::Perform { .. }));
    assert_eq!(performed, 0, "it was recorded before we left");
}

#[tokio::test(start_paused = true)]
async fn now_means_now() {
    let mut stage = Stage::new(|order, _| match order.effect.what {
        EffectKind::Check => Reaction::Hangs,
        _ => Reaction::Ends(goes_well(order)),
    })
    .await;
    stage.build(1, 1).await;
    while stage.started.recv().await.unwrap().effect.what != EffectKind::Check {}
    stage.handle.shut_down(false).await;
    stage.handle.shut_down(true).await;
    stage.project.running.await.unwrap().unwrap();
}
