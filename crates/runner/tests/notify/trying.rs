//! A person tries their channels out.

use unstuck_runner::notify::{Tested, test};
use unstuck_world::fake::receiver::{Receiver, Reply};
use unstuck_world::notify::Undelivered;

use crate::stage::{PROJECT, START, got, hook};

#[tokio::test]
async fn a_test_goes_to_every_channel_at_any_hour_and_says_what_came_of_it() {
    let receiver = Receiver::start([Reply::status(200), Reply::status(403)]).await.unwrap();
    let quiet = "quiet_hours='22:00-07:00'\nsecret='whsec-0815'";
    let channels = [hook("phone", &receiver, quiet), hook("desk", &receiver, "")];
    let tested = test(PROJECT, &channels, START).await;
    let why = "127.0.0.1 answered 403".to_owned();
    let of = |channel: &str, arrived| Tested { channel: channel.to_owned(), arrived };
    assert_eq!(tested, [of("phone", Ok(())), of("desk", Err(Undelivered::Never { why }))]);
    assert_eq!(got(&receiver, "title"), ["Messages work in “shop”"; 2]);
}
