//! From what a provider says to what a phone shows.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use unstuck_core::engine::{Event, TaskState};
use unstuck_runner::SystemClock;
use unstuck_runner::notify::{NotificationSender, NotifySetup};
use unstuck_store::tables::QuestionStatus;
use unstuck_store::{Outbox, Store};
use unstuck_testkit::stage::TestRepo;
use unstuck_world::fake::receiver::FakeReceiver;
use unstuck_world::fake::server::{FakeAnswer, FakeHttpError, FakeScript};
use unstuck_world::notify::NotifyChannel;

use crate::build::build_project::{CANARY, PROJECT, Stage};
use crate::build::scripts::{Job, Mind};
use crate::notify::decided_project::channel_hiding;

// T4.27: the provider's error, the fault, the question and the message are of one category.
#[tokio::test]
async fn the_category_is_the_same_from_the_provider_to_the_message() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let mind =
        Mind::anthropic(FakeScript::from(FakeAnswer::Error(FakeHttpError::NoSuchModel))).await;
    let stage =
        Stage::build(TestRepo::with(&[("a", "1\n")]), vec![Job::thought_out("a", &mind)]).await;
    let waits =
        |state: &TaskState| matches!(state, TaskState::Parked { .. } | TaskState::Failed { .. });
    stage.wait_until(move |state| state.tasks().all(|task| waits(&task.state))).await;
    let met = stage.faults().await.remove(0);
    let store = Arc::new(stage.store.clone());
    // As if the channel had been there from the beginning, and the process had died since.
    store.save_outbox(PROJECT, "phone", Outbox::delivered_up_to(0)).await.unwrap();
    let sender = NotificationSender::start(NotifySetup {
        store: Arc::clone(&store) as Arc<dyn Store>,
        project: PROJECT.into(),
        clock: Arc::new(SystemClock),
        channels: vec![phone(&receiver)],
        links: None,
    });
    sender.await.unwrap().finish(Duration::from_mins(1)).await;
    let sent = receiver.recorded_requests().remove(0);
    let body = sent.json();
    assert_eq!(body["category"], json!(met.category()));
    assert_eq!(body["code"], json!(met.code()));
    let mark = format!("[{}] ", met.category().as_str().to_uppercase());
    assert!(body["title"].as_str().unwrap().starts_with(&mark), "{body}");
    let asked = store.load_questions(PROJECT, Some(QuestionStatus::Pending)).await.unwrap();
    assert!(asked.iter().all(|question| question.code == Some(met.code())));
    let failed = stage.events().await.iter().any(|r| matches!(r.event, Event::TaskFailed { .. }));
    assert_eq!(asked.is_empty(), failed);
    // TX16, B9
    assert!(!String::from_utf8_lossy(&sent.body).contains(CANARY));
}

fn phone(receiver: &FakeReceiver) -> NotifyChannel {
    let toml = format!("kind='webhook'\nurl='{}'\nlevel='failures'", receiver.url("/"));
    channel_hiding("phone", &toml, [CANARY])
}
