//! The delivery of test messages.

use unstuck_core::tell::Message;
use unstuck_core::time::Time;
use unstuck_world::notify::{Channel, Undelivered};

/// The result of a test message on one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    /// The channel's name.
    pub channel: String,
    /// `Ok` if the message arrived, or the reason for which it did not.
    pub arrived: Result<(), Undelivered>,
}

/// Sends a test message on each channel, now and regardless of quiet hours, and returns the
/// results.
pub async fn test(project: &str, channels: &[Channel], now: Time) -> Vec<Tested> {
    let message = Message::test(project, now.as_millis(), now);
    let mut tested = Vec::new();
    for channel in channels {
        let arrived = channel.deliver(&message, now).await;
        tested.push(Tested { channel: channel.name().to_owned(), arrived });
    }
    tested
}
