//! Outboxes: the delivery progress of each channel.

use std::sync::Arc;

use unstuck_core::time::Time;
use unstuck_store::{Batch, Outbox, serialize_snapshot};

use crate::store::fixture::{StoreFixture, make_task};
use crate::store::{PROJECT, StoreOpener, SuiteResult, check_equal, check_holds};

/// An unknown channel begins after the last event, each at its own position, whether or not old events still
/// exist.
pub async fn a_new_channel_hears_what_is_new(place: &dyn StoreOpener) -> SuiteResult {
    let early = place.open().open_outbox(PROJECT, "early").await?;
    check_equal(
        "where nothing happened there is nothing to tell",
        &early,
        &Outbox::delivered_up_to(0),
    )?;
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    let end = stage.state.seq();
    check_holds("something happened", end > 0)?;
    let late = stage.store.open_outbox(PROJECT, "late").await?;
    check_equal("old news is no news", &late, &Outbox::delivered_up_to(end))?;
    check_equal(
        "in each project",
        &stage.store.open_outbox("other", "late").await?,
        &Outbox::delivered_up_to(0),
    )?;
    stage.fail_authentication("a").await?;
    check_equal("it stays where it is", &stage.store.open_outbox(PROJECT, "late").await?, &late)?;
    for _ in ["older", "newer"] {
        let batch = Batch { snapshot: Some(serialize_snapshot(&stage.state)), ..Batch::default() };
        stage.journal.append_batch(batch).wait_until_durable().await?;
        stage.fail_check("a", "one").await.ok();
    }
    stage.journal.prune_before(Time::from_millis(u64::MAX / 2)).await?;
    let latest = stage.store.open_outbox(PROJECT, "latest").await?;
    check_equal("after what was dropped too", &latest, &Outbox::delivered_up_to(stage.state.seq()))
}

/// The progress of a channel, and its next retry, survive a crash and a clean end.
pub async fn how_far_a_channel_came_survives(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    stage.store.open_outbox(PROJECT, "phone").await?;
    stage.fail_authentication("a").await?;
    let retry_at = Some(Time::from_millis(u64::from(u32::MAX) * 1_000));
    let waits = Outbox { upto: stage.state.seq(), tries: 3, retry_at };
    stage.store.save_outbox(PROJECT, "phone", waits).await?;
    stage = stage.crash_and_reopen(place).await?;
    check_equal(
        "a death changes nothing",
        &stage.store.open_outbox(PROJECT, "phone").await?,
        &waits,
    )?;
    let told = Outbox::delivered_up_to(waits.upto);
    stage.store.save_outbox(PROJECT, "phone", told).await?;
    stage = stage.close_and_reopen(place).await?;
    check_equal("nor does an end", &stage.store.open_outbox(PROJECT, "phone").await?, &told)
}

/// A process that is behind, because it was slow or is another one, does not reset the position.
pub async fn a_channel_never_goes_back(place: &dyn StoreOpener) -> SuiteResult {
    let store = place.open();
    store.open_outbox(PROJECT, "phone").await?;
    let far = Outbox::delivered_up_to(40);
    let tell = |upto: u64| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            store.save_outbox(PROJECT, "phone", Outbox::delivered_up_to(upto)).await
        })
    };
    for one in [40, 7, 39].map(tell) {
        one.await??;
    }
    check_equal("the furthest stays", &store.open_outbox(PROJECT, "phone").await?, &far)?;
    let behind = Outbox { upto: 39, tries: 2, retry_at: None };
    store.save_outbox(PROJECT, "phone", behind).await?;
    check_equal("with all that is known of it", &store.open_outbox(PROJECT, "phone").await?, &far)?;
    let again = Outbox { upto: 40, tries: 1, retry_at: Some(Time::from_millis(5)) };
    store.save_outbox(PROJECT, "phone", again).await?;
    check_equal(
        "what is known of the next try changes",
        &store.open_outbox(PROJECT, "phone").await?,
        &again,
    )
}
