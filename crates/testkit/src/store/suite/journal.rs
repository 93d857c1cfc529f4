//! The journal: in order, without gaps, by one writer; old data is deleted, data that opening needs stays.

use unstuck_core::engine::{Command, EffectOutcome, State};
use unstuck_core::time::{Span, Time};
use unstuck_store::{Batch, EventPage, StoreError, serialize_snapshot};

use crate::store::fixture::{StoreFixture, make_task};
use crate::store::{
    PROJECT, StoreDump, StoreOpener, SuiteResult, check_equal, check_holds, make_holder,
};

/// Crashes and clean ends in between do not change the state.
pub async fn state_survives_deaths_and_ends(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a"), make_task("b")]).await?;
    stage.fail_check("a", "one").await?;
    stage = stage.crash_and_reopen(place).await?;
    stage.decide_durably(Command::Recover { task: None, clean: false }).await?;
    stage.fail_check("a", "one").await?;
    stage = stage.close_and_reopen(place).await?;
    stage.fail_authentication("b").await?;
    stage = stage.crash_and_reopen(place).await?;
    StoreDump::read_project(&*stage.store, PROJECT).await?.check_against(&stage.state)
}

/// A second holder is refused and learns who the first one is.
pub async fn a_held_project_is_refused_by_name(place: &dyn StoreOpener) -> SuiteResult {
    let stage = StoreFixture::new(place).await?;
    let refused = stage.store.claim_project(PROJECT, &make_holder("exec")).await.err();
    check_equal("the holder is named", &refused, &Some(StoreError::Held(make_holder("run"))))?;
    check_equal(
        "the message names the holder",
        &refused.map(|error| error.to_string()).unwrap_or_default(),
        &"the project is in use by `unstuck run` (process 4711)".to_owned(),
    )?;
    // Another project is free, and this one is once its holder is gone.
    drop(stage.store.claim_project("other", &make_holder("exec")).await?);
    drop(stage.journal);
    drop(stage.store.claim_project(PROJECT, &make_holder("exec")).await?);
    Ok(())
}

/// A batch that cannot be written leaves nothing behind, and neither do those after it; once the project is
/// claimed again, writing continues.
pub async fn a_failed_batch_leaves_nothing_behind(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a"), make_task("b")]).await?;
    let before = StoreDump::read_project(&*stage.store, PROJECT).await?;
    let durable = stage.state.clone();
    let a = stage.task_id("a")?;
    let b = stage.task_id("b")?;
    let mut gap = stage.decide_command(Command::Skip { task: a })?;
    let last = gap.events.len() - 1;
    gap.events[last].seq += 1;
    let next = stage.decide_command(Command::Skip { task: b })?;
    let first = stage.journal.append_batch(gap);
    let second = stage.journal.append_batch(next);
    check_holds("a batch with a gap is refused", first.wait_until_durable().await.is_err())?;
    check_holds("and so is what follows it", second.wait_until_durable().await.is_err())?;
    let StoreFixture { store, journal, .. } = &mut stage;
    let held = std::mem::replace(
        journal,
        store.claim_project("spare", &make_holder("run")).await?.journal,
    );
    check_holds("even when that is an end", held.close(&durable).await.is_err())?;
    let after = StoreDump::read_project(&*stage.store, PROJECT).await?;
    check_equal("nothing was written", &after, &before)?;

    let mut claim = stage.store.claim_project(PROJECT, &make_holder("run")).await?;
    check_equal("the state is the one before", &claim.state, &durable)?;
    stage.state = claim.state;
    let batch = stage.decide_command(Command::Skip { task: a })?;
    claim.journal.append_batch(batch).wait_until_durable().await?;
    StoreDump::read_project(&*stage.store, PROJECT).await?.check_against(&stage.state)
}

/// The journal is read in pages, each after the last.
pub async fn a_journal_is_read_in_pages(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    stage.fail_check("a", "one").await?;
    let all = stage.store.load_events(PROJECT, EventPage { after: 0, limit: u32::MAX }).await?;
    check_equal("all are there", &(all.len() as u64), &stage.state.seq())?;
    let mut after = 0;
    let mut paged = Vec::new();
    loop {
        let page = stage.store.load_events(PROJECT, EventPage { after, limit: 3 }).await?;
        check_holds("a page is no longer than asked for", page.len() <= 3)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        paged.extend(page);
    }
    check_equal("the pages are the whole", &paged, &all)?;
    for page in [EventPage { after: u64::MAX, limit: 1 }, EventPage { after: 0, limit: 0 }] {
        let none = stage.store.load_events(PROJECT, page).await?;
        check_equal("there is nothing beyond the end, and none are none", &none, &Vec::new())?;
    }
    Ok(())
}

/// Subscribers are notified of each batch once it is durable, and not of other projects' batches.
pub async fn followers_are_told(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    let mut follower = stage.store.subscribe_to_project(PROJECT);
    let mut other = stage.store.subscribe_to_project("other");
    check_equal("nothing is there", &*follower.borrow_and_update(), &0)?;
    other.mark_unchanged();
    stage.start_build(vec![make_task("a")]).await?;
    check_holds("there are news", follower.has_changed()?)?;
    check_equal("up to the last event", &*follower.borrow_and_update(), &stage.state.seq())?;
    check_holds("not of another project", !other.has_changed()?)
}

/// Two projects in one store are independent of each other.
pub async fn two_projects_do_not_meet(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    stage.fail_authentication("a").await?;
    let other = stage.store.claim_project("other", &make_holder("run")).await?;
    check_equal("the other is empty", &other.state, &State::new("other"))?;
    let dump = StoreDump::read_project(&*stage.store, "other").await?;
    check_equal("in its rows too", &dump, &StoreDump::read_project(&*stage.store, "unknown").await?)
}

/// Opening uses the newest readable snapshot: broken ones are skipped, all of them if necessary.
pub async fn broken_snapshots_are_passed_over(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    for broken in [false, true, true] {
        stage.fail_check("a", "one").await?;
        let mut bytes = serialize_snapshot(&stage.state);
        if broken {
            bytes.truncate(bytes.len() / 2);
        }
        let batch = Batch { snapshot: Some(bytes), ..Batch::default() };
        stage.journal.append_batch(batch).wait_until_durable().await?;
        stage = stage.crash_and_reopen(place).await?;
        stage.decide_durably(Command::Recover { task: None, clean: false }).await?;
    }
    Ok(())
}

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
