//! Conversations: the latest of each task, as durable as the progress it belongs to.

use unstuck_core::engine::{Command, Outcome, Progress};
use unstuck_core::time::Span;
use unstuck_store::{Batch, CHECKPOINT_BYTES_MAX, Checkpoint, Conversation, snapshot};

use crate::store::stage::{Stage, task};
use crate::store::{Checked, PROJECT, Place, holder, holds, same};

/// The latest conversation of a task survives a crash, and another task's is separate.
pub async fn the_latest_conversation_survives(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a"), task("b")]).await?;
    same("at first nothing was said", &kept(&stage, "a").await?, &None)?;
    for said in ["one", "one, two"] {
        say(&mut stage, "a", said).await?;
        same("the latest is kept", &kept(&stage, "a").await?, &Some(said.to_owned()))?;
        stage = stage.die(place).await?;
        same("a death changes nothing", &kept(&stage, "a").await?, &Some(said.to_owned()))?;
        stage.must(Command::Recover { task: None, clean: false }).await?;
        same("nor does going on", &kept(&stage, "a").await?, &Some(said.to_owned()))?;
    }
    let longest = "ü".repeat(CHECKPOINT_BYTES_MAX / 2);
    say(&mut stage, "b", &longest).await?;
    stage = stage.hand_over(place).await?;
    holds("the longest comes back whole", kept(&stage, "b").await? == Some(longest))?;
    same("the other is as it was", &kept(&stage, "a").await?, &Some("one, two".to_owned()))?;
    let elsewhere = stage.store.checkpoint("unknown", stage.id("a")?).await?;
    same("another project has its own", &elsewhere, &None)
}

/// A conversation is deleted in the same transaction in which it is over: the task ends in any way, or
/// another conversation begins.
pub async fn a_conversation_that_is_over_is_not_kept(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a"), task("b"), task("c"), task("d")]).await?;
    for name in ["a", "b", "c", "d"] {
        say(&mut stage, name, name).await?;
    }
    stage.attempt("a").await?;
    same("it is kept while it is checked", &kept(&stage, "a").await?, &Some("a".to_owned()))?;
    for _ in ["check", "commit", "emit"] {
        stage.settle("a", Outcome::Done).await?;
    }
    same("the task is done", &kept(&stage, "a").await?, &None)?;
    stage.must(Command::Skip { task: stage.id("b")? }).await?;
    same("the task is left out", &kept(&stage, "b").await?, &None)?;
    stage.red("c", "one").await?;
    same("another conversation begins", &kept(&stage, "c").await?, &None)?;
    stage.refused("d").await?;
    same("who waits goes on later", &kept(&stage, "d").await?, &Some("d".to_owned()))?;
    let build = stage.store.builds(PROJECT).await?.remove(0).id;
    stage.must(Command::Cancel { build }).await?;
    same("the build is cancelled", &kept(&stage, "d").await?, &None)
}

/// Progress that uses up the last step ends the conversation it comes with.
pub async fn a_conversation_that_ends_with_its_progress_is_not_kept(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    let batch = said(&mut stage, "a", "the end", u32::MAX)?;
    stage.journal.append(batch).durable().await?;
    same("it is over at once", &kept(&stage, "a").await?, &None)
}

/// A conversation whose progress could not be written is not stored, and the one before it is.
pub async fn a_conversation_is_written_with_its_progress_or_not_at_all(
    place: &dyn Place,
) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    say(&mut stage, "a", "one").await?;
    let durable = stage.state.clone();
    let mut gap = said(&mut stage, "a", "lost", 1)?;
    let last = gap.events.len() - 1;
    gap.events[last].seq += 1;
    holds("it is refused", stage.journal.append(gap).durable().await.is_err())?;
    same("the one before stays", &kept(&stage, "a").await?, &Some("one".to_owned()))?;
    drop(stage.journal);
    let claim = stage.store.claim(PROJECT, &holder("run")).await?;
    same("with its progress", &claim.state, &durable)
}

/// Retention does not delete a conversation that is still needed.
pub async fn an_old_conversation_stays_while_its_task_lives(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    say(&mut stage, "a", "one").await?;
    for _ in ["older", "newer"] {
        let batch = Batch { snapshot: Some(snapshot(&stage.state)), ..Batch::default() };
        stage.journal.append(batch).durable().await?;
        say(&mut stage, "a", "one").await?;
    }
    let before = stage.now + Span::from_secs(1);
    holds("old events went", stage.journal.retain(before).await? > 0)?;
    same("the conversation did not", &kept(&stage, "a").await?, &Some("one".to_owned()))
}

/// Reports progress of the agent, and makes the conversation durable with it.
async fn say(stage: &mut Stage, name: &str, text: &str) -> Checked {
    let batch = said(stage, name, text, 1)?;
    stage.journal.append(batch).durable().await?;
    Ok(())
}

fn said(stage: &mut Stage, name: &str, text: &str, iterations: u32) -> Checked<Batch> {
    let task = stage.id(name)?;
    let effect = stage.owed(name)?.id;
    let report = Progress { iterations, ..Progress::default() };
    let mut batch = stage.decided(Command::Progress { effect, report })?;
    batch.checkpoint = Some(Checkpoint { task, conversation: Conversation::new(text)? });
    Ok(batch)
}

async fn kept(stage: &Stage, name: &str) -> Checked<Option<String>> {
    let kept = stage.store.checkpoint(PROJECT, stage.id(name)?).await?;
    Ok(kept.map(|conversation| conversation.as_str().to_owned()))
}
