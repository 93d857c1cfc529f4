//! The sender of all channels of a project, each at its own pace, and of test messages.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use unstuck_core::tell::Notification;
use unstuck_core::time::Time;
use unstuck_store::{Store, StoreError};
use unstuck_world::notify::{DeliveryError, NotifyChannel};

use super::channel_queue::{AnswerLinkSource, ChannelQueue, NotifyContext, ShutdownPhases};
use crate::event_loop::Clock;

/// Maximum time at shutdown to store the state of messages that were not delivered.
const REMEMBERING_MAX: Duration = Duration::from_secs(1);

/// The configuration of a [`NotificationSender`].
pub struct NotifySetup {
    /// The store of the project.
    pub store: Arc<dyn Store>,
    /// The project's name.
    pub project: Arc<str>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The channels that get messages.
    pub channels: Vec<NotifyChannel>,
    /// The source of links for answers, if there is one.
    pub links: Option<Arc<dyn AnswerLinkSource>>,
}

/// A sender of notifications about a project, until it is finished or dropped.
///
/// It belongs to the holder of the project. Two at a time would lose no message, but deliver some
/// twice.
pub struct NotificationSender {
    queues: JoinSet<()>,
    end: ShutdownPhases,
}

impl NotificationSender {
    /// Starts with the messages that were not delivered yet. Has to be called before the first
    /// command, because a new channel gets the events from here on.
    pub async fn start(outgoing: NotifySetup) -> Result<Self, StoreError> {
        let NotifySetup { store, project, clock, channels, links } = outgoing;
        let shared = NotifyContext { store, project, clock, links };
        let mut opened = Vec::new();
        let mut queues = JoinSet::new();
        for channel in channels {
            opened.push(ChannelQueue::open(shared.clone(), channel).await?);
        }
        let end = ShutdownPhases::default();
        for queue in opened {
            queues.spawn(queue.deliver_until_end(end.clone()));
        }
        Ok(Self { queues, end })
    }

    /// Delivers the messages that can be delivered now, within `grace` at most. The rest (a channel
    /// that is down, quiet hours) is delivered by the next process. A channel that did not accept a
    /// message in that time is waited for only briefly at the next shutdown.
    pub async fn finish(mut self, grace: Duration) {
        self.end.closing.cancel();
        if self.ended_within(grace).await {
            return;
        }
        tracing::info!("some messages are told at the next start");
        self.end.over.cancel();
        self.ended_within(REMEMBERING_MAX).await;
    }

    async fn ended_within(&mut self, time: Duration) -> bool {
        let all = async { while self.queues.join_next().await.is_some() {} };
        tokio::time::timeout(time, all).await.is_ok()
    }
}

impl fmt::Debug for NotificationSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("channels", &self.queues.len()).finish_non_exhaustive()
    }
}

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
