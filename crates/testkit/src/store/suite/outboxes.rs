//! Outboxes: the delivery progress of each channel.

use std::sync::Arc;

use unstuck_core::time::Time;
use unstuck_store::{Batch, Outbox, snapshot};

use crate::store::stage::{Stage, task};
use crate::store::{Checked, PROJECT, Place, holds, same};

/// An unknown channel begins after the last event, each at its own position, whether or not old events still
/// exist.
pub async fn a_new_channel_hears_what_is_new(place: &dyn Place) -> Checked {
    let early = place.open().outbox(PROJECT, "early").await?;
    same("where nothing happened there is nothing to tell", &early, &Outbox::told(0))?;
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    let end = stage.state.seq();
    holds("something happened", end > 0)?;
    let late = stage.store.outbox(PROJECT, "late").await?;
    same("old news is no news", &late, &Outbox::told(end))?;
    same("in each project", &stage.store.outbox("other", "late").await?, &Outbox::told(0))?;
    stage.refused("a").await?;
    same("it stays where it is", &stage.store.outbox(PROJECT, "late").await?, &late)?;
    for _ in ["older", "newer"] {
        let batch = Batch { snapshot: Some(snapshot(&stage.state)), ..Batch::default() };
        stage.journal.append(batch).durable().await?;
        stage.red("a", "one").await.ok();
    }
    stage.journal.retain(Time::from_millis(u64::MAX / 2)).await?;
    let latest = stage.store.outbox(PROJECT, "latest").await?;
    same("after what was dropped too", &latest, &Outbox::told(stage.state.seq()))
}

/// The progress of a channel, and its next retry, survive a crash and a clean end.
pub async fn how_far_a_channel_came_survives(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    stage.store.outbox(PROJECT, "phone").await?;
    stage.refused("a").await?;
    let retry_at = Some(Time::from_millis(u64::from(u32::MAX) * 1_000));
    let waits = Outbox { upto: stage.state.seq(), tries: 3, retry_at };
    stage.store.told(PROJECT, "phone", waits).await?;
    stage = stage.die(place).await?;
    same("a death changes nothing", &stage.store.outbox(PROJECT, "phone").await?, &waits)?;
    let told = Outbox::told(waits.upto);
    stage.store.told(PROJECT, "phone", told).await?;
    stage = stage.hand_over(place).await?;
    same("nor does an end", &stage.store.outbox(PROJECT, "phone").await?, &told)
}

/// A process that is behind, because it was slow or is another one, does not reset the position.
pub async fn a_channel_never_goes_back(place: &dyn Place) -> Checked {
    let store = place.open();
    store.outbox(PROJECT, "phone").await?;
    let far = Outbox::told(40);
    let tell = |upto: u64| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.told(PROJECT, "phone", Outbox::told(upto)).await })
    };
    for one in [40, 7, 39].map(tell) {
        one.await??;
    }
    same("the furthest stays", &store.outbox(PROJECT, "phone").await?, &far)?;
    let behind = Outbox { upto: 39, tries: 2, retry_at: None };
    store.told(PROJECT, "phone", behind).await?;
    same("with all that is known of it", &store.outbox(PROJECT, "phone").await?, &far)?;
    let again = Outbox { upto: 40, tries: 1, retry_at: Some(Time::from_millis(5)) };
    store.told(PROJECT, "phone", again).await?;
    same("what is known of the next try changes", &store.outbox(PROJECT, "phone").await?, &again)
}
