//! A client that asks gets an answer, and only requests that it may make are done.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use unstuck_core::engine::{Command, EffectId, EffectOutcome, QuestionId, TaskId};
use unstuck_core::policy::Amount;
use unstuck_core::question::Decision;
use unstuck_runner::RunnerNotice;
use unstuck_runner::control::{ClientError, ControlClient, ControlRefusal};
use unstuck_store::{CHECKPOINT_BYTES_MAX, EventPage, Store as _};

use crate::control::holder::{Stage, define, holder, job};

pub(crate) fn why(error: &ClientError) -> ControlRefusal {
    match error {
        ClientError::Refused { why, .. } => *why,
        ClientError::Gone => panic!("it is gone"),
    }
}

#[tokio::test]
async fn the_holder_says_who_it_is() {
    let stage = Stage::new().await;
    let (_, said) = ControlClient::connect(&stage.socket, None).await.unwrap();
    assert_eq!(said, holder());
}

#[tokio::test]
async fn what_is_acknowledged_is_on_disk() {
    let stage = Stage::new().await;
    let events = stage.client().await.submit_command(job("nightly")).await.unwrap();
    let page = EventPage { after: 0, limit: 100 };
    // What a process that comes after a crash would read.
    let kept = stage.store.clone_after_crash().load_events("shop", page).await.unwrap();
    assert!(!events.is_empty() && kept.ends_with(&events), "{kept:?}");
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_leaves_no_trace() {
    let (stage, client) = Stage::with_client().await;
    define(&client, "nightly").await;
    let before = stage.look(unstuck_core::engine::State::seq).await;
    let twice = client.submit_command(job("nightly")).await.unwrap_err();
    let nowhere = client.submit_command(Command::FireJob { task: TaskId(99) }).await.unwrap_err();
    assert_eq!((why(&twice), why(&nowhere)), (ControlRefusal::Rejected, ControlRefusal::Rejected));
    assert_eq!(stage.look(unstuck_core::engine::State::seq).await, before);
}

// B18: answers are rows of the store, results come from the performer, time from the clock.
#[tokio::test]
async fn what_only_the_loop_may_say_is_denied() {
    let (_stage, client) = Stage::with_client().await;
    let question = QuestionId(0);
    let (decision, by) = (Decision::SkipFeature, Arc::from("me"));
    let denied = [
        Command::Answer { question, decision, guidance: None, by },
        Command::Settle { effect: EffectId(0), outcome: EffectOutcome::Done, spent: Amount::ZERO },
        Command::Recover { task: None, clean: true },
        Command::Wake,
    ];
    for command in denied {
        assert_eq!(why(&client.submit_command(command).await.unwrap_err()), ControlRefusal::Denied);
    }
}

#[tokio::test]
async fn nonsense_does_no_harm() {
    let (stage, client) = Stage::with_client().await;
    let mut line = stage.line().await;
    for nonsense in
        ["", "{", "[]", "{\"id\":1,\"do\":\"dance\"}", "\u{0}\u{1}", "{\"do\":\"hello\"}"]
    {
        let said = line.ask(nonsense).await;
        assert_eq!(said["refused"]["why"], "malformed", "{nonsense:?}: {said}");
    }
    line.send(b"\xff\xfe\n").await;
    assert_eq!(line.hear().await.unwrap()["refused"]["why"], "malformed");
    let deep = format!("{}\n", "[".repeat(100_000));
    line.send(deep.as_bytes()).await;
    assert_eq!(line.hear().await.unwrap()["refused"]["why"], "malformed");
    // The same connection can still be talked through, and so can another.
    assert_eq!(line.ask("{\"id\":5,\"do\":\"hello\"}").await["done"]["id"], 5);
    define(&client, "nightly").await;
}

#[tokio::test]
async fn a_line_without_an_end_is_not_listened_to() {
    let (stage, client) = Stage::with_client().await;
    let mut line = stage.line().await;
    let endless = vec![b'x'; 2 * CHECKPOINT_BYTES_MAX + 1_024 * 1_024 + 1];
    line.send(&endless).await;
    assert_eq!(line.hear().await, None);
    define(&client, "nightly").await;
}

#[tokio::test]
async fn a_watcher_is_told_everything_once() {
    let stage = Stage::new().await;
    let (client, watcher) = (stage.client().await, stage.client().await);
    let mut first = watcher.subscribe_notices().await.unwrap();
    // Asking twice tells nothing twice.
    watcher.subscribe_notices().await.unwrap();
    let mut events = client.submit_command(job("a")).await.unwrap();
    events.extend(client.submit_command(job("b")).await.unwrap());
    for event in events {
        match first.recv().await.unwrap() {
            RunnerNotice::Event { recorded, .. } => assert_eq!(*recorded, event),
            notice => panic!("{notice:?}"),
        }
    }
    // Everything that was said before an answer is heard before it.
    client.submit_command(job("c")).await.unwrap();
    assert!(matches!(first.recv().await.unwrap(), RunnerNotice::Event { .. }));
}

// B50: an unused connection is closed: a server that asks who holds a project would run out of
// descriptors otherwise
#[tokio::test]
async fn a_client_that_is_dropped_hangs_up() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let holds = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let done = format!(
            "{{\"done\":{{\"id\":1,\"events\":[],\"holder\":{}}}}}\n",
            serde_json::to_string(&holder()).unwrap()
        );
        stream.write_all(done.as_bytes()).await.unwrap();
        line.clear();
        stream.read_line(&mut line).await.unwrap()
    });
    let (client, said) = ControlClient::connect(&socket, None).await.unwrap();
    assert_eq!(said, holder());
    drop(client);
    assert_eq!(holds.await.unwrap(), 0);
}

// B50: the same at the other end, for one who was told what happens and left
#[tokio::test]
async fn a_watcher_that_hangs_up_is_let_go_of() {
    let stage = Stage::new().await;
    let mut line = stage.line().await;
    line.ask("{\"id\":1,\"do\":\"hello\"}").await;
    line.ask("{\"id\":2,\"do\":\"watch\"}").await;
    line.say_no_more().await;
    assert_eq!(line.hear().await, None);
}
