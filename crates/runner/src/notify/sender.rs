//! The sender of all channels of a project, each at its own pace.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::QuestionId;
use unstuck_core::question::QuestionOption;
use unstuck_core::tell::AnswerLink;
use unstuck_store::{Store, StoreError};
use unstuck_world::notify::NotifyChannel;

use super::line::{ChannelQueue, NotifyContext};
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

/// A source of links by which people can answer questions.
pub trait AnswerLinkSource: Send + Sync {
    /// Returns the links for a question, to be sent on a channel.
    fn make_links(
        &self,
        channel: &str,
        question: QuestionId,
        options: &[QuestionOption],
    ) -> Vec<AnswerLink>;
}

/// A sender of notifications about a project, until it is finished or dropped.
///
/// It belongs to the holder of the project. Two at a time would lose no message, but deliver some
/// twice.
pub struct NotificationSender {
    lines: JoinSet<()>,
    end: ShutdownPhases,
}

/// The phases of the shutdown.
#[derive(Clone, Default)]
pub(super) struct ShutdownPhases {
    /// Cancelled when no further event follows.
    pub(super) closing: CancellationToken,
    /// Cancelled when messages in progress are left to the next start.
    pub(super) over: CancellationToken,
}

impl NotificationSender {
    /// Starts with the messages that were not delivered yet. Has to be called before the first
    /// command, because a new channel gets the events from here on.
    pub async fn start(outgoing: NotifySetup) -> Result<Self, StoreError> {
        let NotifySetup { store, project, clock, channels, links } = outgoing;
        let shared = NotifyContext { store, project, clock, links };
        let mut opened = Vec::new();
        let mut lines = JoinSet::new();
        for channel in channels {
            opened.push(ChannelQueue::open(shared.clone(), channel).await?);
        }
        let end = ShutdownPhases::default();
        for line in opened {
            lines.spawn(line.deliver_until_end(end.clone()));
        }
        Ok(Self { lines, end })
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
        let all = async { while self.lines.join_next().await.is_some() {} };
        tokio::time::timeout(time, all).await.is_ok()
    }
}

impl fmt::Debug for NotificationSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("channels", &self.lines.len()).finish_non_exhaustive()
    }
}
