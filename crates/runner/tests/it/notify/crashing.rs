//! Nothing is lost when a process dies or a receiver is down.

use std::time::Duration;

use tokio::time::Instant;
use unstuck_core::fault::Code;
use unstuck_core::time::Span;
use unstuck_runner::Clock as _;
use unstuck_store::Store as _;
use unstuck_world::fake::receiver::{FakeReceiver, ReceiverReply};

use crate::notify::decided_project::{PROJECT, START, Stage, channel, finish, got, hook};

#[tokio::test]
async fn what_was_told_but_not_remembered_is_told_again_under_the_same_id() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let hooks = || vec![hook("hook", &receiver, "")];
    let mut stage = Stage::new().await;
    let sender = stage.sender(hooks()).await;
    stage.build(&["a", "b"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    // From here on nothing can be remembered, as if we had died right after the delivery.
    stage.store.set_full(true);
    finish(sender).await;
    assert_eq!(receiver.recorded_requests().len(), 1);
    let mut stage = stage.die().await;
    let sender = stage.sender(hooks()).await;
    receiver.wait_for_requests(2).await;
    stage.fails("b", Code::PermissionCommandBlocked, "not allowed").await;
    finish(sender).await;
    let ids = got(&receiver, "id");
    assert_eq!(ids[0], ids[1], "a receiver that got it twice can tell");
    assert_eq!((ids.len(), ids[2] != ids[1]), (3, true));
    // What is remembered is not told again.
    let stage = stage.die().await;
    finish(stage.sender(hooks()).await).await;
    assert_eq!(receiver.recorded_requests().len(), 3);
}

#[tokio::test]
async fn what_happened_without_a_sender_is_told_at_the_next_start() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let mut stage = Stage::new().await;
    drop(stage.sender(vec![hook("hook", &receiver, "")]).await);
    stage.build(&["a"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    let stage = stage.die().await;
    finish(stage.sender(vec![hook("hook", &receiver, "")]).await).await;
    assert_eq!(got(&receiver, "code"), ["AUTH_INVALID"]);
}

#[tokio::test]
async fn a_receiver_that_is_down_gets_it_later_and_the_others_do_not_wait() {
    let asks = ReceiverReply { retry_after: Some(60), ..ReceiverReply::with_status(429) };
    let down = FakeReceiver::start([ReceiverReply::with_status(503), asks]).await.unwrap();
    let up = FakeReceiver::start([]).await.unwrap();
    let mut stage = Stage::new().await;
    let sender = stage.sender(vec![hook("down", &down, ""), hook("up", &up, "")]).await;
    stage.build(&["a"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    up.wait_for_requests(1).await;
    down.wait_for_requests(1).await;
    stage.clock.pass_when_waited_for(Span::from_secs(5)).await;
    down.wait_for_requests(2).await;
    // It is remembered over a death: the next sender is as patient.
    finish(sender).await;
    let outbox = stage.store.open_outbox(PROJECT, "down").await.unwrap();
    assert_eq!((outbox.tries, outbox.retry_at), (2, Some(START + Span::from_secs(65))));
    let stage = stage.die().await;
    let sender = stage.sender(vec![hook("down", &down, "")]).await;
    stage.clock.pass_when_waited_for(Span::from_secs(59)).await;
    assert_eq!(down.recorded_requests().len(), 2, "not before it said");
    stage.clock.pass_when_waited_for(Span::from_secs(1)).await;
    down.wait_for_requests(3).await;
    finish(sender).await;
    let ids = got(&down, "id");
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(stage.store.open_outbox(PROJECT, "down").await.unwrap().tries, 0);
    assert_eq!(stage.clock.now(), START + Span::from_secs(65));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_never_answers_holds_up_no_second_end() {
    // No one accepts what it connects to.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let toml = format!("kind='webhook'\nurl='http://{}/'", listener.local_addr().unwrap());
    let mut stage = Stage::new().await;
    let sender = stage.sender(vec![channel("hook", &toml)]).await;
    stage.build(&["a"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    sender.finish(Duration::from_secs(3)).await;
    assert_eq!(stage.store.open_outbox(PROJECT, "hook").await.unwrap().tries, 1);
    stage.clock.pass(Span::from_secs(5));
    let (stage, began) = (stage.die().await, Instant::now());
    finish(stage.sender(vec![channel("hook", &toml)]).await).await;
    assert_eq!(began.elapsed().as_secs(), 1);
    assert_eq!(stage.store.open_outbox(PROJECT, "hook").await.unwrap().tries, 2);
}

#[tokio::test]
async fn what_is_refused_is_given_up_and_the_next_one_is_told() {
    let receiver = FakeReceiver::start([ReceiverReply::with_status(404)]).await.unwrap();
    let mut stage = Stage::new().await;
    let sender = stage.sender(vec![hook("hook", &receiver, "")]).await;
    stage.build(&["a", "b"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    receiver.wait_for_requests(1).await;
    stage.fails("b", Code::PermissionCommandBlocked, "not allowed").await;
    finish(sender).await;
    assert_eq!(got(&receiver, "code"), ["AUTH_INVALID", "PERMISSION_COMMAND_BLOCKED"]);
}
