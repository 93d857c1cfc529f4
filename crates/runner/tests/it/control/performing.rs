//! Another process performs the effects of what is its own.

use std::sync::Arc;

use unstuck_core::engine::{Command, EffectKind};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_runner::PerformScope;

use crate::control::holder::{Stage, define, hand};

#[tokio::test]
async fn what_is_its_own_is_handed_over_and_its_result_counts() {
    let stage = Stage::new().await;
    let (holder, client) = (hand(), stage.client().await);
    stage.handle.attach_performer(PerformScope::Project, holder.0).await.unwrap();
    let task = define(&client, "nightly").await;
    let (world, mut told) = hand();
    client.attach_performer(PerformScope::Task(task), Arc::clone(&world) as _).await.unwrap();
    client.submit_command(Command::FireJob { task }).await.unwrap();
    let order = told.begun.recv().await.unwrap();
    assert!(matches!(order.effect.what, EffectKind::Execute { retry: 0 }));
    assert_eq!((order.effect.task, order.firing, order.task.name.as_str()), (task, 1, "nightly"));
    world.go.add_permits(9);
    stage.done(task).await;
}

#[tokio::test]
async fn what_is_no_longer_wanted_is_stopped_there() {
    let (_stage, client) = Stage::with_client().await;
    let (world, mut told) = hand();
    client.attach_performer(PerformScope::Project, world).await.unwrap();
    let task = TaskSpec { name: "a".into(), ..TaskSpec::default() };
    let plan = Arc::new(Plan::new(vec![task]).unwrap());
    client.submit_command(Command::StartBuild { plan, slots: 1, in_place: false }).await.unwrap();
    let order = told.begun.recv().await.unwrap();
    client.submit_command(Command::Cancel { build: order.build }).await.unwrap();
    assert_eq!(told.stopped.recv().await.unwrap(), order.effect.id);
}

#[tokio::test]
async fn one_at_a_time_and_the_others_in_line() {
    let stage = Stage::new().await;
    let (first, second, third) = (stage.client().await, stage.client().await, stage.client().await);
    let task = define(&first, "nightly").await;
    let scope = move || PerformScope::Task(task);
    let (world, mut told) = hand();
    assert!(first.try_attach_performer(scope(), world).await.unwrap());
    first.submit_command(Command::FireJob { task }).await.unwrap();
    told.begun.recv().await.unwrap();
    let (other, mut others) = hand();
    assert!(!second.try_attach_performer(scope(), Arc::clone(&other) as _).await.unwrap());
    // One that gave up waiting is passed over.
    let mut gave_up = stage.line().await;
    let attach = format!(
        "{{\"id\":1,\"do\":\"attach\",\"scope\":{{\"task\":{}}},\"waits\":true}}\n",
        task.0
    );
    gave_up.send(attach.as_bytes()).await;
    drop(gave_up);
    let waiting = tokio::spawn(async move {
        second.attach_performer(scope(), other).await.unwrap();
        second
    });
    first.detach_all().await.unwrap();
    let second = waiting.await.unwrap();
    let order = others.begun.recv().await.unwrap();
    assert!(matches!(order.effect.what, EffectKind::Execute { .. }));
    assert!(!third.try_attach_performer(scope(), hand().0).await.unwrap());
    second.detach_all().await.unwrap();
    assert!(third.try_attach_performer(scope(), hand().0).await.unwrap());
}
