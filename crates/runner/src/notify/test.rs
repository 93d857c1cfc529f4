//! Whether messages arrive, tried out.

use unstuck_core::tell::Message;
use unstuck_core::time::Time;
use unstuck_world::notify::{Channel, Undelivered};

/// What came of the try at one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    /// The channel.
    pub channel: String,
    /// Whether the message arrived.
    pub arrived: Result<(), Undelivered>,
}

/// Sends a test message by each channel, now and whatever its quiet hours, and tells what came of it.
pub async fn test(project: &str, channels: &[Channel], now: Time) -> Vec<Tested> {
    let message = Message::test(project, now.as_millis(), now);
    let mut tested = Vec::new();
    for channel in channels {
        let arrived = channel.deliver(&message, now).await;
        tested.push(Tested { channel: channel.name().to_owned(), arrived });
    }
    tested
}
