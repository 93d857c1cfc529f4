//! Quiet hours hold back and do not lose.

use unstuck_core::fault::Code;
use unstuck_core::time::Span;
use unstuck_world::fake::receiver::FakeReceiver;

use crate::notify::decided_project::{Stage, finish, got, hook};

const NIGHT: &str = "quiet_hours='22:00-07:00'";

// It is 22:13 at the start.
#[tokio::test]
async fn what_happens_at_night_is_told_in_the_morning() {
    let (asleep, awake) =
        (FakeReceiver::start([]).await.unwrap(), FakeReceiver::start([]).await.unwrap());
    let mut stage = Stage::new().await;
    let channels = vec![hook("asleep", &asleep, NIGHT), hook("awake", &awake, "")];
    let sender = stage.sender(channels).await;
    stage.build(&["a", "b"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    awake.wait_for_requests(1).await;
    stage.clock.pass_when_waited_for(Span::from_hours(8)).await;
    stage.fails("b", Code::PermissionCommandBlocked, "not allowed").await;
    awake.wait_for_requests(2).await;
    assert_eq!(asleep.recorded_requests().len(), 0);
    stage.clock.pass_when_waited_for(Span::from_mins(47)).await;
    asleep.wait_for_requests(2).await;
    finish(sender).await;
    assert_eq!(got(&asleep, "id"), got(&awake, "id"), "all of it, in order");
}

#[tokio::test]
async fn an_end_in_the_night_loses_nothing() {
    let receiver = FakeReceiver::start([]).await.unwrap();
    let mut stage = Stage::new().await;
    let sender = stage.sender(vec![hook("hook", &receiver, NIGHT)]).await;
    stage.build(&["a"]).await;
    stage.fails("a", Code::AuthInvalid, "refused").await;
    finish(sender).await;
    assert_eq!(receiver.recorded_requests().len(), 0);
    let stage = stage.die().await;
    let sender = stage.sender(vec![hook("hook", &receiver, NIGHT)]).await;
    stage.clock.pass_when_waited_for(Span::from_hours(9)).await;
    receiver.wait_for_requests(1).await;
    finish(sender).await;
    assert_eq!(got(&receiver, "code"), ["AUTH_INVALID"]);
}
