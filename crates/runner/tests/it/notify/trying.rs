//! A person tries their channels out.

use unstuck_runner::notify::{ChannelTestResult, send_test_messages};
use unstuck_world::fake::receiver::{FakeReceiver, ReceiverReply};
use unstuck_world::notify::DeliveryError;

use crate::notify::decided_project::{PROJECT, START, got, hook};

#[tokio::test]
async fn a_test_goes_to_every_channel_at_any_hour_and_says_what_came_of_it() {
    let receiver =
        FakeReceiver::start([ReceiverReply::with_status(200), ReceiverReply::with_status(403)])
            .await
            .unwrap();
    let quiet = "quiet_hours='22:00-07:00'\nsecret='whsec-0815'";
    let channels = [hook("phone", &receiver, quiet), hook("desk", &receiver, "")];
    let tested = send_test_messages(PROJECT, &channels, START).await;
    let why = "127.0.0.1 answered 403".to_owned();
    let of = |channel: &str, arrived| ChannelTestResult { channel: channel.to_owned(), arrived };
    assert_eq!(tested, [of("phone", Ok(())), of("desk", Err(DeliveryError::Never { why }))]);
    assert_eq!(got(&receiver, "title"), ["Messages work in “shop”"; 2]);
}
