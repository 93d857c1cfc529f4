//! Waits end when their time has come, in any process.

use std::sync::Arc;

use unstuck_core::engine::{Counters, EffectKind, EffectOutcome, State, TaskState};
use unstuck_core::fault::{Crash, Fault};
use unstuck_core::time::{Span, Time};
use unstuck_runner::{Clock as _, EffectRequest};

use crate::event_loop::virtual_loop::{Reaction, Stage, all_well, goes_well};

fn crashes_once(order: &EffectRequest, times: u32) -> Reaction {
    match order.effect.what {
        EffectKind::Attempt { .. } if times == 1 => {
            let fault = Fault::provider_crash("agent", "gone", Crash::default());
            Reaction::Ends(EffectOutcome::Failed { fault: Arc::new(fault), approach: None })
        }
        _ => Reaction::Ends(goes_well(order)),
    }
}

/// A build whose one task waits for its next try.
async fn backing_off() -> Stage {
    let stage = Stage::new(crashes_once).await;
    stage.build(1, 1).await;
    stage.wait_until(|s| s.tasks().all(|t| matches!(t.state, TaskState::BackingOff { .. }))).await;
    stage
}

/// The time of the next try, and the counts.
fn next_try(state: &State) -> (Option<Time>, Counters) {
    (state.next_wake(), state.tasks().next().unwrap().counters)
}

// T3.14
#[tokio::test(start_paused = true)]
async fn a_backoff_ends_by_itself_and_not_before_its_time() {
    let stage = Stage::new(crashes_once).await;
    let began = stage.clock.now();
    stage.build(1, 1).await;
    stage.completed().await;
    let took = stage.clock.now().since(began);
    assert!(took >= Span::from_secs(1) && took <= Span::from_millis(1_310), "{took}");
}

// TX10, T2.1
#[tokio::test(start_paused = true)]
async fn a_restart_changes_neither_the_next_try_nor_a_counter() {
    let stage = backing_off().await;
    let before = stage.look(next_try).await;
    let (store, clock) = stage.crash().await;
    let stage = Stage::on(store, clock, all_well).await;
    assert_eq!(stage.look(next_try).await, before);
    stage.completed().await;
    assert!(stage.clock.now() >= before.0.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_over_when_we_come_back_goes_on_at_once() {
    let stage = backing_off().await;
    let (store, clock) = stage.crash().await;
    tokio::time::sleep(std::time::Duration::from_hours(1)).await;
    let began = clock.now();
    let stage = Stage::on(store, clock, all_well).await;
    stage.completed().await;
    assert_eq!(stage.clock.now().since(began), Span::ZERO);
}

// A wait is until a point in time: set back, it takes longer, and nothing else changes.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_moves_no_counter_and_loses_nothing() {
    let stage = backing_off().await;
    let before = stage.look(next_try).await;
    stage.clock.set_back(Span::from_hours(1));
    assert_eq!(stage.look(next_try).await, before);
    let (store, clock) = stage.crash().await;
    let stage = Stage::on(store, clock, all_well).await;
    assert_eq!(stage.look(next_try).await, before);
    stage.completed().await;
    assert!(stage.clock.now() >= before.0.unwrap(), "not before its time, whatever the clock says");
    assert_eq!(stage.performed(|what| *what == EffectKind::Commit), 1);
}
