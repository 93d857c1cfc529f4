//! Another process that lets an agent work hands in its conversation over the socket.

use std::sync::Arc;

use unstuck_core::engine::{Command, CommandRejection, ProgressReport, TaskId};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_runner::PerformScope;
use unstuck_runner::control::{ClientError, ControlRefusal};
use unstuck_store::{CHECKPOINT_BYTES_MAX, Store as _, StoredConversation};

use crate::control::holder::{Stage, hand};
use crate::control::talking::why;

fn said(text: impl Into<Arc<str>>) -> StoredConversation {
    StoredConversation::new(text).unwrap()
}

#[tokio::test]
async fn the_longest_conversation_goes_over_the_socket() {
    let (stage, client) = Stage::with_client().await;
    let (world, mut told) = hand();
    client.attach_performer(PerformScope::Project, world).await.unwrap();
    let task = TaskSpec { name: "a".into(), ..TaskSpec::default() };
    let plan = Arc::new(Plan::new(vec![task]).unwrap());
    client.submit_command(Command::StartBuild { plan, slots: 1, in_place: false }).await.unwrap();
    let effect = told.begun.recv().await.unwrap().effect.id;
    let kept = async || stage.store.load_checkpoint("shop", TaskId(0)).await.unwrap();
    // Quotes get twice as long on their way: this is the worst that JSON can come to.
    let longest = said("\"".repeat(CHECKPOINT_BYTES_MAX));
    let events =
        client.record_checkpoint(effect, ProgressReport::default(), longest.clone()).await.unwrap();
    assert!(!events.is_empty());
    assert!(kept().await == Some(longest.clone()));

    // What is no JSON can get longer still; then nothing is sent, and the connection lives on.
    let odd = said("\0".repeat(CHECKPOINT_BYTES_MAX));
    let refused =
        client.record_checkpoint(effect, ProgressReport::default(), odd).await.unwrap_err();
    assert_eq!(why(&refused), ControlRefusal::Malformed);
    client.record_checkpoint(effect, ProgressReport::default(), said("short")).await.unwrap();
    assert_eq!(kept().await, Some(said("short")));

    // A child of the run reports for it, but what was said is not its to change.
    let child = stage.child(effect).await;
    let refused = child.record_checkpoint(effect, ProgressReport::default(), said("forged")).await;
    assert_eq!(why(&refused.unwrap_err()), ControlRefusal::Denied);

    client.submit_command(Command::Skip { task: TaskId(0) }).await.unwrap();
    let late = client
        .record_checkpoint(effect, ProgressReport::default(), said("late"))
        .await
        .unwrap_err();
    let refusal = CommandRejection::Stale(effect).to_string();
    assert_eq!(late, ClientError::Refused { why: ControlRefusal::Stale, message: refusal });
    assert_eq!(kept().await, None);
}
