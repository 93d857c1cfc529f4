//! Counts are there for the next process and the next build.

use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{BuildState, EffectKind, EffectOutcome, Event, PauseCause, Subject};
use unstuck_core::fault::{Auth, Fault, Validation};
use unstuck_runner::EffectRequest;
use unstuck_store::tables::BuildRow;
use unstuck_store::{EventPage, Store as _};

use crate::event_loop::virtual_loop::{Reaction, Stage, goes_well};

/// The agent tries something else each time, and the tests are red in the same way so often; after
/// that it does not come back.
fn red_for(limit: u32) -> impl Fn(&EffectRequest, u32) -> Reaction {
    move |order, times| match order.effect.what {
        EffectKind::Attempt { .. } if times > limit => Reaction::Hangs,
        EffectKind::Attempt { .. } => {
            let digest = Some(Digest(u64::from(times)));
            let approach = Arc::new(Approach { digest, files_changed: 1, ..Approach::default() });
            Reaction::Ends(EffectOutcome::Attempted { approach })
        }
        EffectKind::Check => {
            let fault = Fault::validation_pre_commit("tests", "boom", Validation::default());
            Reaction::Ends(EffectOutcome::Failed { fault: Arc::new(fault), approach: None })
        }
        _ => Reaction::Ends(goes_well(order)),
    }
}

async fn next_attempt(stage: &mut Stage) {
    while !matches!(stage.started.recv().await.unwrap().effect.what, EffectKind::Attempt { .. }) {}
}

/// A loop of `project` on what the store of another one holds.
async fn after(earlier: Stage, project: &str) -> Stage {
    let (store, clock) = earlier.crash().await;
    Stage::with(store, clock, |setup| setup.project = project.into(), red_for(1)).await
}

/// A build whose task failed three times, killed in the middle of its fourth attempt.
async fn failed_three_times() -> Stage {
    let mut stage = Stage::new(red_for(3)).await;
    stage.build(1, 1).await;
    for _ in 1..=4 {
        next_attempt(&mut stage).await;
    }
    assert_eq!(stage.look(|state| state.questions().count()).await, 0);
    stage
}

// T2.1, T2.2
#[tokio::test(start_paused = true)]
async fn the_next_build_of_a_project_asks_at_the_first_failure_that_is_one_too_many() {
    let stage = after(failed_three_times().await, "shop").await;
    stage.build(1, 1).await;
    stage.wait_until(|state| state.questions().count() == 1).await;
}

// T2.2
#[tokio::test(start_paused = true)]
async fn another_project_begins_at_zero() {
    let mut stage = after(failed_three_times().await, "bakery").await;
    stage.build(1, 1).await;
    // It fails and is tried again.
    for _ in 1..=2 {
        next_attempt(&mut stage).await;
    }
    assert_eq!(stage.look(|state| state.questions().count()).await, 0);
}

// T1.14: a reader of the journal or the tables after any crash finds that it stands still, and why.
#[tokio::test(start_paused = true)]
async fn a_build_stands_still_only_after_what_it_waits_for_is_stored() {
    let stage = Stage::new(|order, _| match order.effect.what {
        EffectKind::Attempt { .. } => {
            // Each of them another error: numbers alone make no difference.
            let account = ["red", "blue", "green", "black", "white", "grey"]
                [usize::try_from(order.effect.task.0).unwrap()];
            let fault = Fault::auth_invalid("agent", account, Auth::default());
            Reaction::Ends(EffectOutcome::Failed { fault: Arc::new(fault), approach: None })
        }
        _ => Reaction::Ends(goes_well(order)),
    })
    .await;
    stage.build(6, 6).await;
    let paused = BuildState::Paused { cause: PauseCause::Questions };
    stage.wait_until(move |state| state.builds().all(|build| build.state == paused)).await;
    let (store, _) = stage.crash().await;
    let events = store.load_events("shop", EventPage { after: 0, limit: 1_000 }).await.unwrap();
    let stands = events.iter().position(|event| matches!(event.event, Event::BuildPaused { .. }));
    let asked = events[..stands.unwrap()].iter().filter(|event| match &event.event {
        Event::QuestionAsked { question } => matches!(question.subject, Subject::Error(_)),
        _ => false,
    });
    assert_eq!(asked.count(), 5);
    let builds: Vec<BuildRow> = store.load_builds("shop").await.unwrap();
    assert_eq!(builds[0].state, paused);
}
