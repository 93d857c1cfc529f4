//! Conversations: the latest of each task, as durable as the progress it belongs to.

use unstuck_core::engine::{Command, EffectOutcome, ProgressReport};
use unstuck_core::time::Span;
use unstuck_store::{
    Batch, CHECKPOINT_BYTES_MAX, Checkpoint, StoredConversation, serialize_snapshot,
};

use crate::store::fixture::{StoreFixture, make_task};
use crate::store::{PROJECT, StoreOpener, SuiteResult, check_equal, check_holds, make_holder};

/// The latest conversation of a task survives a crash, and another task's is separate.
pub async fn the_latest_conversation_survives(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a"), make_task("b")]).await?;
    check_equal("at first nothing was said", &load_conversation(&stage, "a").await?, &None)?;
    for said in ["one", "one, two"] {
        write_conversation(&mut stage, "a", said).await?;
        check_equal(
            "the latest is kept",
            &load_conversation(&stage, "a").await?,
            &Some(said.to_owned()),
        )?;
        stage = stage.crash_and_reopen(place).await?;
        check_equal(
            "a death changes nothing",
            &load_conversation(&stage, "a").await?,
            &Some(said.to_owned()),
        )?;
        stage.decide_durably(Command::Recover { task: None, clean: false }).await?;
        check_equal(
            "nor does going on",
            &load_conversation(&stage, "a").await?,
            &Some(said.to_owned()),
        )?;
    }
    let longest = "ü".repeat(CHECKPOINT_BYTES_MAX / 2);
    write_conversation(&mut stage, "b", &longest).await?;
    stage = stage.close_and_reopen(place).await?;
    check_holds(
        "the longest comes back whole",
        load_conversation(&stage, "b").await? == Some(longest),
    )?;
    check_equal(
        "the other is as it was",
        &load_conversation(&stage, "a").await?,
        &Some("one, two".to_owned()),
    )?;
    let elsewhere = stage.store.load_checkpoint("unknown", stage.task_id("a")?).await?;
    check_equal("another project has its own", &elsewhere, &None)
}

/// A conversation is deleted in the same transaction in which it is over: the task ends in any way, or
/// another conversation begins.
pub async fn a_conversation_that_is_over_is_not_kept(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a"), make_task("b"), make_task("c"), make_task("d")]).await?;
    for name in ["a", "b", "c", "d"] {
        write_conversation(&mut stage, name, name).await?;
    }
    stage.settle_attempt("a").await?;
    check_equal(
        "it is kept while it is checked",
        &load_conversation(&stage, "a").await?,
        &Some("a".to_owned()),
    )?;
    for _ in ["check", "commit", "emit"] {
        stage.settle_effect("a", EffectOutcome::Done).await?;
    }
    check_equal("the task is done", &load_conversation(&stage, "a").await?, &None)?;
    stage.decide_durably(Command::Skip { task: stage.task_id("b")? }).await?;
    check_equal("the task is left out", &load_conversation(&stage, "b").await?, &None)?;
    stage.fail_check("c", "one").await?;
    check_equal("another conversation begins", &load_conversation(&stage, "c").await?, &None)?;
    stage.fail_authentication("d").await?;
    check_equal(
        "who waits goes on later",
        &load_conversation(&stage, "d").await?,
        &Some("d".to_owned()),
    )?;
    let build = stage.store.load_builds(PROJECT).await?.remove(0).id;
    stage.decide_durably(Command::Cancel { build }).await?;
    check_equal("the build is cancelled", &load_conversation(&stage, "d").await?, &None)
}

/// Progress that uses up the last step ends the conversation it comes with.
pub async fn a_conversation_that_ends_with_its_progress_is_not_kept(
    place: &dyn StoreOpener,
) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    let batch = decide_progress(&mut stage, "a", "the end", u32::MAX)?;
    stage.journal.append_batch(batch).wait_until_durable().await?;
    check_equal("it is over at once", &load_conversation(&stage, "a").await?, &None)
}

/// A conversation whose progress could not be written is not stored, and the one before it is.
pub async fn a_conversation_is_written_with_its_progress_or_not_at_all(
    place: &dyn StoreOpener,
) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    write_conversation(&mut stage, "a", "one").await?;
    let durable = stage.state.clone();
    let mut gap = decide_progress(&mut stage, "a", "lost", 1)?;
    let last = gap.events.len() - 1;
    gap.events[last].seq += 1;
    check_holds(
        "it is refused",
        stage.journal.append_batch(gap).wait_until_durable().await.is_err(),
    )?;
    check_equal(
        "the one before stays",
        &load_conversation(&stage, "a").await?,
        &Some("one".to_owned()),
    )?;
    drop(stage.journal);
    let claim = stage.store.claim_project(PROJECT, &make_holder("run")).await?;
    check_equal("with its progress", &claim.state, &durable)
}

/// Retention does not delete a conversation that is still needed.
pub async fn an_old_conversation_stays_while_its_task_lives(
    place: &dyn StoreOpener,
) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    write_conversation(&mut stage, "a", "one").await?;
    for _ in ["older", "newer"] {
        let batch = Batch { snapshot: Some(serialize_snapshot(&stage.state)), ..Batch::default() };
        stage.journal.append_batch(batch).wait_until_durable().await?;
        write_conversation(&mut stage, "a", "one").await?;
    }
    let before = stage.now + Span::from_secs(1);
    check_holds("old events went", stage.journal.prune_before(before).await? > 0)?;
    check_equal(
        "the conversation did not",
        &load_conversation(&stage, "a").await?,
        &Some("one".to_owned()),
    )
}

/// Reports progress of the agent, and makes the conversation durable with it.
async fn write_conversation(stage: &mut StoreFixture, name: &str, text: &str) -> SuiteResult {
    let batch = decide_progress(stage, name, text, 1)?;
    stage.journal.append_batch(batch).wait_until_durable().await?;
    Ok(())
}

fn decide_progress(
    stage: &mut StoreFixture,
    name: &str,
    text: &str,
    iterations: u32,
) -> SuiteResult<Batch> {
    let task = stage.task_id(name)?;
    let effect = stage.owed_effect(name)?.id;
    let report = ProgressReport { iterations, ..ProgressReport::default() };
    let mut batch = stage.decide_command(Command::Progress { effect, report })?;
    batch.checkpoint = Some(Checkpoint { task, conversation: StoredConversation::new(text)? });
    Ok(batch)
}

async fn load_conversation(stage: &StoreFixture, name: &str) -> SuiteResult<Option<String>> {
    let kept = stage.store.load_checkpoint(PROJECT, stage.task_id(name)?).await?;
    Ok(kept.map(|conversation| conversation.as_str().to_owned()))
}
