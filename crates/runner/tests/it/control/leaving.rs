//! Processes that end: the one that performs, and the one that holds the project.

use std::sync::Arc;

use tokio::net::UnixStream;
use unstuck_core::engine::{Command, EffectKind};
use unstuck_runner::PerformScope;
use unstuck_runner::control::ControlClient;
use unstuck_store::Store as _;

use crate::control::holder::{Hand, Stage, Told, define, hand};

/// A guest whose job runs.
async fn busy(stage: &Stage) -> (ControlClient, Arc<Hand>, Told, unstuck_runner::EffectRequest) {
    let client = stage.client().await;
    let task = define(&client, "nightly").await;
    let (world, mut told) = hand();
    client.attach_performer(PerformScope::Task(task), Arc::clone(&world) as _).await.unwrap();
    client.submit_command(Command::FireJob { task }).await.unwrap();
    let order = told.begun.recv().await.unwrap();
    (client, world, told, order)
}

// Its connection ends without a word, as when it is killed.
#[tokio::test]
async fn a_guest_that_is_gone_is_taken_up_by_the_next() {
    let stage = Stage::new().await;
    let task = define(&stage.client().await, "nightly").await;
    let mut line = stage.line().await;
    line.ask(&format!("{{\"id\":1,\"do\":\"attach\",\"scope\":{{\"task\":{}}}}}", task.0)).await;
    stage.client().await.submit_command(Command::FireJob { task }).await.unwrap();
    let perform = line.hear().await.unwrap();
    assert_eq!(perform["perform"]["task"]["name"], "nightly", "{perform}");
    drop::<crate::control::holder::Line>(line);
    let (next, (world, mut told)) = (stage.client().await, hand());
    next.attach_performer(PerformScope::Task(task), Arc::clone(&world) as _).await.unwrap();
    let order = told.begun.recv().await.unwrap();
    assert!(matches!(order.effect.what, EffectKind::Execute { retry: 1 }), "{:?}", order.effect);
    assert_eq!((order.firing, stage.crashes(task).await), (1, 1));
    world.go.add_permits(9);
    stage.done(task).await;
}

#[tokio::test]
async fn a_guest_that_leaves_properly_is_not_to_blame() {
    let stage = Stage::new().await;
    let (client, _, mut told, order) = busy(&stage).await;
    let task = order.effect.task;
    client.detach_all().await.unwrap();
    // What it was doing is ended.
    assert_eq!(told.stopped.recv().await.unwrap(), order.effect.id);
    let (next, (world, mut told)) = (stage.client().await, hand());
    next.attach_performer(PerformScope::Task(task), Arc::clone(&world) as _).await.unwrap();
    told.begun.recv().await.unwrap();
    assert_eq!(stage.crashes(task).await, 0);
    world.go.add_permits(9);
    stage.done(task).await;
}

// A guest that has nothing to do goes: no run of another process is thought to be gone with it.
#[tokio::test]
async fn an_idle_guest_takes_nothing_along() {
    let stage = Stage::new().await;
    let idle = stage.client().await;
    let other = define(&idle, "other").await;
    idle.attach_performer(PerformScope::Task(other), hand().0).await.unwrap();
    let task = define(&stage.client().await, "nightly").await;
    // The run is decided, and its effect is not yet let go of.
    let fired = stage.handle.submit_command(Command::FireJob { task });
    let (left, fired) = tokio::join!(idle.detach_all(), fired);
    left.unwrap();
    fired.unwrap();
    let (world, mut told) = hand();
    stage.handle.attach_performer(PerformScope::Task(task), Arc::clone(&world) as _).await.unwrap();
    let order = told.begun.recv().await.unwrap();
    assert!(matches!(order.effect.what, EffectKind::Execute { retry: 0 }));
    world.go.add_permits(9);
    stage.done(task).await;
    assert_eq!(stage.store.load_task_runs("shop", task).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_holder_that_ends_stops_no_work_of_others() {
    let stage = Stage::new().await;
    let (client, world, mut told, order) = busy(&stage).await;
    let stage = stage.ended().await;
    assert!(told.stopped.try_recv().is_err());
    goes_on(&stage, &world, told, &order).await;
    drop(client);
}

#[tokio::test]
async fn a_holder_that_is_killed_stops_no_work_of_others() {
    let stage = Stage::new().await;
    let (client, world, told, order) = busy(&stage).await;
    let stage = stage.crashed().await;
    goes_on(&stage, &world, told, &order).await;
    drop(client);
}

/// The guest comes to the next holder with what it is doing: it is asked for that and not twice.
async fn goes_on(
    stage: &Stage,
    world: &Arc<Hand>,
    mut told: Told,
    order: &unstuck_runner::EffectRequest,
) {
    let task = order.effect.task;
    world.performing.lock().unwrap().push(order.effect.id);
    let client = stage.client().await;
    client.attach_performer(PerformScope::Task(task), Arc::clone(world) as _).await.unwrap();
    let again = told.begun.recv().await.unwrap();
    assert_eq!(again.effect, order.effect);
    assert!(world.cleared.lock().unwrap().is_empty());
    world.go.add_permits(9);
    stage.done(task).await;
    assert_eq!(stage.crashes(task).await, 0);
}

// A guest that comes after a crash ends what is left before anything else of it happens.
#[tokio::test]
async fn a_guest_clears_up_before_it_begins() {
    let stage = Stage::new().await;
    let (client, _, _told, order) = busy(&stage).await;
    let task = order.effect.task;
    let stage = stage.crashed().await;
    drop(client);
    let (next, (world, mut told)) = (stage.client().await, hand());
    next.attach_performer(PerformScope::Task(task), Arc::clone(&world) as _).await.unwrap();
    let again = told.begun.recv().await.unwrap();
    assert_ne!(again.effect.run, order.effect.run);
    assert_eq!(*world.cleared.lock().unwrap(), [task]);
    world.go.add_permits(9);
    stage.done(task).await;
}

#[tokio::test]
async fn a_holder_that_ends_takes_nothing_new_on() {
    let (stage, client) = Stage::with_client().await;
    let task = define(&client, "nightly").await;
    stage.handle.shut_down(false).await;
    assert!(client.submit_command(Command::FireJob { task }).await.is_err());
    assert!(client.attach_performer(PerformScope::Task(task), hand().0).await.is_err());
    assert!(ControlClient::connect(&stage.socket, None).await.is_err());
    // The socket is still there; it is the holder that says no.
    UnixStream::connect(&stage.socket).await.unwrap();
}
