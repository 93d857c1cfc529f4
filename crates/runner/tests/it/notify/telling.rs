//! Messages and their receivers.

use unstuck_core::fault::Code;
use unstuck_core::question::Decision;
use unstuck_core::time::Span;
use unstuck_runner::Clock as _;
use unstuck_runner::notify::WAITING_MAX;
use unstuck_store::{Outbox, Store as _};
use unstuck_world::fake::receiver::FakeReceiver;

use crate::notify::decided_project::{PROJECT, Stage, finish, got, hook};

// T4.26
#[tokio::test]
async fn each_channel_hears_as_much_as_it_wants() {
    let receiver = async || FakeReceiver::start([]).await.unwrap();
    let (few, some, all) = (receiver().await, receiver().await, receiver().await);
    let mut stage = Stage::new().await;
    let channels = vec![
        hook("few", &few, ""),
        hook("some", &some, "level='failures'"),
        hook("all", &all, "level='all'"),
    ];
    let sender = stage.sender(channels).await;
    stage.build(&["a", "b", "c"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    few.wait_for_requests(1).await;
    stage.fails("b", Code::ConfigInvalid, "no such model").await;
    stage.clock.pass(Span::from_mins(1));
    stage.succeeds("c").await;
    some.wait_for_requests(3).await;
    stage.answer(Decision::SkipFeature).await;
    finish(sender).await;
    assert_eq!(got(&few, "title"), ["[PERMISSION] Your answer is needed in “shop”"]);
    let heard = [
        "[PERMISSION] Your answer is needed in “shop”",
        "[CONFIG] A task has failed in “shop”",
        "The build waits for you in “shop”",
        "The build is over in “shop”",
    ];
    assert_eq!(got(&some, "title"), heard[..3]);
    assert_eq!(got(&all, "title"), heard);
}

#[tokio::test]
async fn a_new_channel_hears_nothing_of_what_is_past() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let mut stage = Stage::new().await;
    stage.build(&["a", "b"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    let sender = stage.sender(vec![hook("new", &receiver, "")]).await;
    stage.fails("b", Code::PermissionCommandBlocked, "not allowed").await;
    finish(sender).await;
    assert_eq!(got(&receiver, "code"), ["PERMISSION_COMMAND_BLOCKED"]);
}

// B2: a wait that passes by itself wakes no person.
#[tokio::test]
async fn one_cause_is_one_message() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let mut stage = Stage::new().await;
    let sender = stage.sender(vec![hook("all", &receiver, "level='all'")]).await;
    stage.build(&["a", "b", "c", "d"]).await;
    stage.fails("a", Code::ProviderRateLimit, "slow down").await;
    stage.fails("b", Code::ProviderRateLimit, "slow down").await;
    stage.fails("c", Code::AuthInvalid, "refused").await;
    stage.fails("d", Code::AuthInvalid, "refused").await;
    finish(sender).await;
    assert_eq!(got(&receiver, "code"), ["AUTH_INVALID"]);
}

#[tokio::test]
async fn the_question_that_makes_a_build_wait_is_enough() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let mut stage = Stage::new().await;
    let sender = stage.sender(vec![hook("all", &receiver, "level='all'")]).await;
    stage.build(&["a"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    finish(sender).await;
    assert_eq!(got(&receiver, "code"), ["AUTH_INVALID"]);
}

#[tokio::test]
async fn a_question_that_is_answered_first_is_not_told() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let mut stage = Stage::new().await;
    stage.store.open_outbox(PROJECT, "hook").await.unwrap();
    stage.build(&["a", "b"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    stage.answer(Decision::ProvideCredentials).await;
    finish(stage.sender(vec![hook("hook", &receiver, "")]).await).await;
    assert_eq!(got(&receiver, "code"), Vec::<String>::new());
    let outbox = stage.store.open_outbox(PROJECT, "hook").await.unwrap();
    assert!(outbox.upto > 0, "and not looked at again: {outbox:?}");
}

#[tokio::test]
async fn a_job_that_fails_the_same_way_again_is_told_once() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let mut stage = Stage::new().await;
    let sender = stage.sender(vec![hook("hook", &receiver, "level='failures'")]).await;
    for code in [Code::ConfigInvalid, Code::ConfigInvalid, Code::ConfigMissing] {
        stage.fire("nightly").await;
        stage.fails("nightly", code, "no such file").await;
        stage.clock.pass(Span::from_mins(1));
    }
    finish(sender).await;
    assert_eq!(got(&receiver, "code"), ["CONFIG_INVALID", "CONFIG_MISSING"]);
}

#[tokio::test]
async fn what_is_too_much_comes_as_a_number() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let mut stage = Stage::new().await;
    stage.store.save_outbox(PROJECT, "hook", Outbox::delivered_up_to(0)).await.unwrap();
    let names: Vec<String> = (0..WAITING_MAX + 12).map(|number| format!("t{number}")).collect();
    stage.build(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for name in &names {
        stage.fails(name, Code::ConfigInvalid, "no such model").await;
    }
    assert_eq!(stage.clock.now(), crate::notify::decided_project::START);
    finish(stage.sender(vec![hook("hook", &receiver, "level='failures'")]).await).await;
    let texts = got(&receiver, "text");
    assert_eq!(texts.len(), WAITING_MAX + 1);
    assert!(texts[0].starts_with("Twelve other messages"), "{}", texts[0]);
    assert_eq!(texts[1], "“Do t12” failed: a setting had a value that cannot work.");
}
