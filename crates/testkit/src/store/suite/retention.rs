//! Retention: old data is deleted; data that opening needs stays.

use unstuck_core::engine::Outcome;
use unstuck_core::time::{Span, Time};
use unstuck_store::{Batch, Page, snapshot};

use crate::store::stage::{Stage, task};
use crate::store::{Checked, Dump, PROJECT, Place, holds, same};

/// Old events are deleted as far as the older snapshot allows, and builds that ended long ago with everything
/// that belongs to them; the project opens as before.
pub async fn what_is_old_goes(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    for name in ["a", "b"] {
        stage.build(vec![task(name)]).await?;
        stage.attempt(name).await?;
        for _ in ["check", "commit", "emit"] {
            stage.settle(name, Outcome::Done).await?;
        }
    }
    let before = stage.now + Span::from_secs(1);
    let all = stage.state.seq();
    same("without snapshots nothing goes", &stage.journal.retain(before).await?, &0)?;
    let first = remember(&mut stage).await?;
    stage.build(vec![task("c")]).await?;
    remember(&mut stage).await?;

    same("nothing is older than the beginning", &stage.journal.retain(Time::EPOCH).await?, &0)?;
    same("what is old goes", &stage.journal.retain(before).await?, &all)?;
    let left = stage.store.events(PROJECT, Page { after: 0, limit: u32::MAX }).await?;
    same("what is young stays", &left.first().map(|recorded| recorded.seq), &Some(first + 1))?;
    let dump = Dump::of(&*stage.store, PROJECT).await?;
    let tasks: Vec<&str> = dump.tasks.iter().map(|row| row.spec.name.as_str()).collect();
    same("only what is alive is left", &tasks, &vec!["c"])?;
    holds("its runs too", dump.runs.iter().all(|run| run.task == dump.tasks[0].id))?;
    let seq = stage.state.seq();
    let stage = stage.die(place).await?;
    same("it opens as before", &stage.state.seq(), &seq)
}

async fn remember(stage: &mut Stage) -> Checked<u64> {
    let batch = Batch { snapshot: Some(snapshot(&stage.state)), ..Batch::default() };
    stage.journal.append(batch).durable().await?;
    Ok(stage.state.seq())
}
