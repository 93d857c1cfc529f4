//! The journal: in order, without gaps, by one writer.

use unstuck_core::engine::{Command, State};
use unstuck_store::{Batch, Page, StoreError, snapshot};

use crate::store::stage::{Stage, task};
use crate::store::{Checked, Dump, PROJECT, Place, holder, holds, same};

/// Crashes and clean ends in between do not change the state.
pub async fn state_survives_deaths_and_ends(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a"), task("b")]).await?;
    stage.red("a", "one").await?;
    stage = stage.die(place).await?;
    stage.must(Command::Recover { task: None, clean: false }).await?;
    stage.red("a", "one").await?;
    stage = stage.hand_over(place).await?;
    stage.refused("b").await?;
    stage = stage.die(place).await?;
    Dump::of(&*stage.store, PROJECT).await?.agrees(&stage.state)
}

/// A second holder is refused and learns who the first one is.
pub async fn a_held_project_is_refused_by_name(place: &dyn Place) -> Checked {
    let stage = Stage::new(place).await?;
    let refused = stage.store.claim(PROJECT, &holder("exec")).await.err();
    same("the holder is named", &refused, &Some(StoreError::Held(holder("run"))))?;
    same(
        "the message names the holder",
        &refused.map(|error| error.to_string()).unwrap_or_default(),
        &"the project is in use by `unstuck run` (process 4711)".to_owned(),
    )?;
    // Another project is free, and this one is once its holder is gone.
    drop(stage.store.claim("other", &holder("exec")).await?);
    drop(stage.journal);
    drop(stage.store.claim(PROJECT, &holder("exec")).await?);
    Ok(())
}

/// A batch that cannot be written leaves nothing behind, and neither do those after it; once the project is
/// claimed again, writing continues.
pub async fn a_failed_batch_leaves_nothing_behind(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a"), task("b")]).await?;
    let before = Dump::of(&*stage.store, PROJECT).await?;
    let durable = stage.state.clone();
    let a = stage.id("a")?;
    let b = stage.id("b")?;
    let mut gap = stage.decided(Command::Skip { task: a })?;
    let last = gap.events.len() - 1;
    gap.events[last].seq += 1;
    let next = stage.decided(Command::Skip { task: b })?;
    let first = stage.journal.append(gap);
    let second = stage.journal.append(next);
    holds("a batch with a gap is refused", first.durable().await.is_err())?;
    holds("and so is what follows it", second.durable().await.is_err())?;
    let Stage { store, journal, .. } = &mut stage;
    let held = std::mem::replace(journal, store.claim("spare", &holder("run")).await?.journal);
    holds("even when that is an end", held.close(&durable).await.is_err())?;
    let after = Dump::of(&*stage.store, PROJECT).await?;
    same("nothing was written", &after, &before)?;

    let mut claim = stage.store.claim(PROJECT, &holder("run")).await?;
    same("the state is the one before", &claim.state, &durable)?;
    stage.state = claim.state;
    let batch = stage.decided(Command::Skip { task: a })?;
    claim.journal.append(batch).durable().await?;
    Dump::of(&*stage.store, PROJECT).await?.agrees(&stage.state)
}

/// The journal is read in pages, each after the last.
pub async fn a_journal_is_read_in_pages(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    stage.red("a", "one").await?;
    let all = stage.store.events(PROJECT, Page { after: 0, limit: u32::MAX }).await?;
    same("all are there", &(all.len() as u64), &stage.state.seq())?;
    let mut after = 0;
    let mut paged = Vec::new();
    loop {
        let page = stage.store.events(PROJECT, Page { after, limit: 3 }).await?;
        holds("a page is no longer than asked for", page.len() <= 3)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        paged.extend(page);
    }
    same("the pages are the whole", &paged, &all)?;
    for page in [Page { after: u64::MAX, limit: 1 }, Page { after: 0, limit: 0 }] {
        let none = stage.store.events(PROJECT, page).await?;
        same("there is nothing beyond the end, and none are none", &none, &Vec::new())?;
    }
    Ok(())
}

/// Subscribers are notified of each batch once it is durable, and not of other projects' batches.
pub async fn followers_are_told(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    let mut follower = stage.store.subscribe(PROJECT);
    let mut other = stage.store.subscribe("other");
    same("nothing is there", &*follower.borrow_and_update(), &0)?;
    other.mark_unchanged();
    stage.build(vec![task("a")]).await?;
    holds("there are news", follower.has_changed()?)?;
    same("up to the last event", &*follower.borrow_and_update(), &stage.state.seq())?;
    holds("not of another project", !other.has_changed()?)
}

/// Two projects in one store are independent of each other.
pub async fn two_projects_do_not_meet(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    stage.refused("a").await?;
    let other = stage.store.claim("other", &holder("run")).await?;
    same("the other is empty", &other.state, &State::new("other"))?;
    let dump = Dump::of(&*stage.store, "other").await?;
    same("in its rows too", &dump, &Dump::of(&*stage.store, "unknown").await?)
}

/// Opening uses the newest readable snapshot: broken ones are skipped, all of them if necessary.
pub async fn broken_snapshots_are_passed_over(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    for broken in [false, true, true] {
        stage.red("a", "one").await?;
        let mut bytes = snapshot(&stage.state);
        if broken {
            bytes.truncate(bytes.len() / 2);
        }
        let batch = Batch { snapshot: Some(bytes), ..Batch::default() };
        stage.journal.append(batch).durable().await?;
        stage = stage.die(place).await?;
        stage.must(Command::Recover { task: None, clean: false }).await?;
    }
    Ok(())
}
