//! Retention: old data is deleted; data that opening needs stays.

use unstuck_core::engine::EffectOutcome;
use unstuck_core::time::{Span, Time};
use unstuck_store::{Batch, EventPage, serialize_snapshot};

use crate::store::stage::{StoreFixture, make_task};
use crate::store::{PROJECT, StoreDump, StoreOpener, SuiteResult, check_equal, check_holds};

/// Old events are deleted as far as the older snapshot allows, and builds that ended long ago with everything
/// that belongs to them; the project opens as before.
pub async fn what_is_old_goes(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    for name in ["a", "b"] {
        stage.start_build(vec![make_task(name)]).await?;
        stage.settle_attempt(name).await?;
        for _ in ["check", "commit", "emit"] {
            stage.settle_effect(name, EffectOutcome::Done).await?;
        }
    }
    let before = stage.now + Span::from_secs(1);
    let all = stage.state.seq();
    check_equal("without snapshots nothing goes", &stage.journal.prune_before(before).await?, &0)?;
    let first = write_snapshot(&mut stage).await?;
    stage.start_build(vec![make_task("c")]).await?;
    write_snapshot(&mut stage).await?;

    check_equal(
        "nothing is older than the beginning",
        &stage.journal.prune_before(Time::EPOCH).await?,
        &0,
    )?;
    check_equal("what is old goes", &stage.journal.prune_before(before).await?, &all)?;
    let left = stage.store.load_events(PROJECT, EventPage { after: 0, limit: u32::MAX }).await?;
    check_equal(
        "what is young stays",
        &left.first().map(|recorded| recorded.seq),
        &Some(first + 1),
    )?;
    let dump = StoreDump::read_project(&*stage.store, PROJECT).await?;
    let tasks: Vec<&str> = dump.tasks.iter().map(|row| row.spec.name.as_str()).collect();
    check_equal("only what is alive is left", &tasks, &vec!["c"])?;
    check_holds("its runs too", dump.runs.iter().all(|run| run.task == dump.tasks[0].id))?;
    let seq = stage.state.seq();
    let stage = stage.crash_and_reopen(place).await?;
    check_equal("it opens as before", &stage.state.seq(), &seq)
}

async fn write_snapshot(stage: &mut StoreFixture) -> SuiteResult<u64> {
    let batch = Batch { snapshot: Some(serialize_snapshot(&stage.state)), ..Batch::default() };
    stage.journal.append_batch(batch).wait_until_durable().await?;
    Ok(stage.state.seq())
}
