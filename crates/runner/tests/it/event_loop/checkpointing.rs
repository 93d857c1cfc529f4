//! Conversations survive whatever happens to the process.

use unstuck_core::engine::{
    Command, CommandRejection, EffectId, EffectKind, ProgressReport, Start, TaskId,
};
use unstuck_runner::CommandError;
use unstuck_store::{Store as _, StoredConversation};

use crate::event_loop::virtual_loop::{Reaction, Stage, goes_well};

const TASK: TaskId = TaskId(0);

fn said(text: &str) -> StoredConversation {
    StoredConversation::new(text).unwrap()
}

fn round() -> ProgressReport {
    ProgressReport { iterations: 1, ..ProgressReport::default() }
}

impl Stage {
    async fn kept(&self) -> Option<StoredConversation> {
        self.store.load_checkpoint("shop", TASK).await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_costs_no_more_than_the_round_it_interrupts() {
    let mut stage = Stage::new(|_, _| Reaction::Hangs).await;
    stage.build(1, 1).await;
    let effect = stage.started.recv().await.unwrap().effect.id;
    for text in ["one", "one, two"] {
        stage.handle.record_checkpoint(effect, round(), said(text)).await.unwrap();
        assert_eq!(stage.kept().await, Some(said(text)), "it is on disk when that is said");
    }
    let (store, clock) = stage.crash().await;
    let mut stage = Stage::on(store, clock, |_, _| Reaction::Hangs).await;
    let order = stage.started.recv().await.unwrap();
    assert_eq!(order.effect.what, EffectKind::Attempt { start: Start::Resume });
    assert_eq!(stage.kept().await, Some(said("one, two")));
    // A child that was killed with the old process may have lived a moment longer.
    let late = stage.handle.record_checkpoint(effect, round(), said("late")).await;
    assert_eq!(late, Err(CommandError::Rejected(CommandRejection::Stale(effect))));
    stage.handle.record_checkpoint(order.effect.id, round(), said("three")).await.unwrap();
    assert_eq!(stage.kept().await, Some(said("three")));
    stage.submit(Command::Skip { task: TASK }).await;
    assert_eq!(stage.kept().await, None);
}

#[tokio::test(start_paused = true)]
async fn only_a_conversation_can_be_kept() {
    let mut stage = Stage::new(|order, _| match order.effect.what {
        EffectKind::Check => Reaction::Hangs,
        _ => Reaction::Ends(goes_well(order)),
    })
    .await;
    stage.build(1, 1).await;
    let attempt = stage.started.recv().await.unwrap().effect.id;
    let check = stage.started.recv().await.unwrap().effect.id;
    let absent = EffectId(u64::MAX);
    for (effect, why) in [
        (attempt, CommandRejection::Stale(attempt)),
        (check, CommandRejection::Misfit(check)),
        (absent, CommandRejection::Stale(absent)),
    ] {
        let refused = stage.handle.record_checkpoint(effect, round(), said("no")).await;
        assert_eq!(refused, Err(CommandError::Rejected(why)));
    }
    assert_eq!(stage.kept().await, None);
}

// A checkpoint that cannot be remembered did not happen, and its sender is told.
#[tokio::test(start_paused = true)]
async fn a_conversation_that_cannot_be_written_is_not_kept() {
    let mut stage = Stage::new(|_, _| Reaction::Hangs).await;
    stage.build(1, 1).await;
    let effect = stage.started.recv().await.unwrap().effect.id;
    stage.handle.record_checkpoint(effect, round(), said("one")).await.unwrap();
    stage.store.fail_next(1);
    let failed = stage.handle.record_checkpoint(effect, round(), said("two")).await;
    assert!(matches!(failed, Err(CommandError::Store(_))), "{failed:?}");
    assert_eq!(stage.kept().await, Some(said("one")));
    let iterations = |state: &unstuck_core::engine::State| state.runs().next().unwrap().iterations;
    assert_eq!(stage.look(iterations).await, 1);
    stage.handle.record_checkpoint(effect, round(), said("two")).await.unwrap();
    assert_eq!((stage.kept().await, stage.look(iterations).await), (Some(said("two")), 2));
}
