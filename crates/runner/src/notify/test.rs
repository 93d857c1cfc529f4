//! The delivery of test messages.

use unstuck_core::tell::Notification;
use unstuck_core::time::Time;
use unstuck_world::notify::{DeliveryError, NotifyChannel};

/// The result of a test message on one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelTestResult {
    /// The channel's name.
    pub channel: String,
    /// `Ok` if the message arrived, or the reason for which it did not.
    pub arrived: Result<(), DeliveryError>,
}

/// Sends a test message on each channel, now and regardless of quiet hours, and returns the
/// results.
pub async fn send_test_messages(
    project: &str,
    channels: &[NotifyChannel],
    now: Time,
) -> Vec<ChannelTestResult> {
    let message = Notification::test_message(project, now.as_millis(), now);
    let mut tested = Vec::new();
    for channel in channels {
        let arrived = channel.deliver(&message, now).await;
        tested.push(ChannelTestResult { channel: channel.name().to_owned(), arrived });
    }
    tested
}
