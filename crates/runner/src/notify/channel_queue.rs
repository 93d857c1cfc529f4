//! The queue of one channel: the messages that it has yet to deliver, in order, one at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::QuestionId;
use unstuck_core::question::QuestionOption;
use unstuck_core::tell::{AnswerLink, Notification, news_from_event};
use unstuck_core::time::{Span, Time};
use unstuck_store::{EventPage, Outbox, Store, StoreError, crash};
use unstuck_world::notify::{DeliveryError, NotifyChannel};

use super::message_composer::MessageComposer;
use super::waiting_messages::{NextMessage, WaitingMessages};
use crate::event_loop::Clock;

/// Number of events per page read from the journal.
const PAGE_EVENTS: u32 = 500;
/// Number of events without a message after which the position is stored, so that they are not read
/// again.
const PASSED_EVENTS: u64 = 1_000;
/// Backoff after the first failure, doubled after each further one.
const RETRY_FIRST: Span = Span::from_secs(5);
/// Maximum time between two tries, unless the other side asks for more.
pub const RETRY_MAX: Span = Span::from_mins(15);
/// Maximum wait that the other side can ask for.
const ASKED_MAX: Span = Span::from_hours(6);

/// Time that the shutdown waits for a channel that did not accept this message before.
const GRACE_WHEN_DOWN: Duration = Duration::from_secs(1);

/// The parts that all channels share.
#[derive(Clone)]
pub(super) struct NotifyContext {
    pub(super) store: Arc<dyn Store>,
    pub(super) project: Arc<str>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) links: Option<Arc<dyn AnswerLinkSource>>,
}

/// The queue of one channel.
pub(super) struct ChannelQueue {
    shared: NotifyContext,
    channel: NotifyChannel,
    /// The delivery state, stored or to be stored with the next successful write.
    outbox: Outbox,
    /// The sequence number of the last event read.
    read: u64,
    waiting: WaitingMessages,
}

/// The next step of a channel.
enum ChannelStep {
    /// No message is waiting.
    Rest,
    /// The time before which no message is delivered.
    Wait(Time),
    Tell(NextMessage),
}

/// Returns the backoff after so many failed tries.
fn retry_delay(tries: u32) -> Span {
    let factor = 1_u64.checked_shl(tries.saturating_sub(1)).unwrap_or(u64::MAX);
    RETRY_FIRST.saturating_mul(factor).min(RETRY_MAX)
}

impl ChannelQueue {
    /// Opens a channel at its stored position; a new one begins with the events from now on.
    pub(super) async fn open(
        shared: NotifyContext,
        channel: NotifyChannel,
    ) -> Result<Self, StoreError> {
        let outbox = shared.store.open_outbox(&shared.project, channel.name()).await?;
        let read = outbox.upto;
        Ok(Self { shared, channel, outbox, read, waiting: WaitingMessages::default() })
    }

    /// Delivers messages until the end, and then those that can be delivered at once.
    pub(super) async fn deliver_until_end(mut self, end: ShutdownPhases) {
        let closing = &end.closing;
        let mut written = self.shared.store.subscribe_to_project(&self.shared.project);
        loop {
            written.mark_unchanged();
            let read = self.read_new_events().await;
            let step = match read {
                Ok(()) => self.next_step(),
                Err(error) => {
                    tracing::warn!(%error, "events cannot be read, so no notification is sent");
                    ChannelStep::Wait(self.now() + RETRY_FIRST)
                }
            };
            match step {
                ChannelStep::Tell(next) => {
                    let is_down = self.outbox.tries > 0;
                    tokio::select! {
                        () = self.deliver_next(next) => {}
                        () = wait_for_cutoff(&end, is_down) => {
                            let why = "it was not told before the end".to_owned();
                            self.schedule_retry(why, None).await;
                        }
                    }
                }
                ChannelStep::Rest | ChannelStep::Wait(_) if closing.is_cancelled() => break,
                ChannelStep::Rest => {
                    wait_for_change(closing, std::future::pending(), &mut written).await;
                }
                ChannelStep::Wait(at) => {
                    wait_for_change(closing, self.shared.clock.wait_until(at), &mut written).await;
                }
            }
        }
        self.store_position(0).await;
    }

    fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// Reads to the end of the journal.
    async fn read_new_events(&mut self) -> Result<(), StoreError> {
        loop {
            let page = EventPage { after: self.read, limit: PAGE_EVENTS };
            let events = self.shared.store.load_events(&self.shared.project, page).await?;
            let Some(last) = events.last() else { break };
            self.read = last.seq;
            let heard = events.iter().filter_map(news_from_event);
            for news in heard.filter(|news| news.level() <= self.channel.level()) {
                self.waiting.push(news);
            }
        }
        self.store_position(PASSED_EVENTS).await;
        Ok(())
    }

    /// Stores the position if more than `many` events were without a message.
    async fn store_position(&mut self, many: u64) {
        let idle = self.waiting.next_message(self.now()).is_none();
        if idle && self.read > self.outbox.upto.saturating_add(many) {
            self.store_outbox(Outbox::delivered_up_to(self.read)).await;
        }
    }

    fn next_step(&mut self) -> ChannelStep {
        let now = self.now();
        let Some(next) = self.waiting.next_message(now) else { return ChannelStep::Rest };
        let again = self.outbox.retry_at.filter(|at| *at > now);
        match again.max(self.channel.quiet_until(now)) {
            Some(at) => ChannelStep::Wait(at),
            None => ChannelStep::Tell(next),
        }
    }

    async fn deliver_next(&mut self, next: NextMessage) {
        let words = MessageComposer { store: &*self.shared.store, project: &self.shared.project };
        match words.compose_message(&next).await {
            Ok(Some(message)) => {
                let message = self.with_links(message);
                match self.channel.deliver(&message, self.now()).await {
                    Ok(()) => {
                        tracing::debug!(channel = self.channel.name(), id = message.id, "told");
                        self.mark_delivered(next).await;
                    }
                    Err(error) => self.handle_undelivered(next, error).await,
                }
            }
            Ok(None) => self.mark_delivered(next).await,
            Err(error) => self.handle_undelivered(next, to_undelivered(&error)).await,
        }
    }

    /// Adds links for the answer to a message that asks a question.
    fn with_links(&self, message: Notification) -> Notification {
        match (&self.shared.links, message.question) {
            (Some(links), Some(question)) => {
                let links = links.make_links(self.channel.name(), question, &message.options);
                message.with_links(links)
            }
            _ => message,
        }
    }

    async fn mark_delivered(&mut self, next: NextMessage) {
        // After a crash at this point the message is delivered again, with the same id.
        crash::crash_point();
        self.waiting.remove_delivered();
        self.store_outbox(Outbox::delivered_up_to(next.delivered_upto())).await;
    }

    async fn handle_undelivered(&mut self, next: NextMessage, error: DeliveryError) {
        let channel = self.channel.name();
        match error {
            DeliveryError::Never { why } => {
                tracing::error!(channel, why, "a message cannot be delivered and is given up");
                self.mark_delivered(next).await;
            }
            DeliveryError::Later { why, after } => {
                let asked = after.map(|wait| wait.ends_at(self.now()));
                self.schedule_retry(why, asked).await;
            }
        }
    }

    /// Schedules the next try, not before the time that was asked for.
    async fn schedule_retry(&mut self, why: String, asked: Option<Time>) {
        let now = self.now();
        let tries = self.outbox.tries.saturating_add(1);
        let asked = asked.map(|at| at.min(now + ASKED_MAX));
        let retry_at = asked.max(Some(now + retry_delay(tries)));
        let channel = self.channel.name();
        tracing::warn!(channel, why, tries, "a message is delivered later");
        self.store_outbox(Outbox { upto: self.outbox.upto, tries, retry_at }).await;
    }

    /// Stores the delivery state. If that fails, the next process delivers the message once more.
    async fn store_outbox(&mut self, outbox: Outbox) {
        self.outbox = outbox;
        let NotifyContext { store, project, .. } = &self.shared;
        if let Err(error) = store.save_outbox(project, self.channel.name(), outbox).await {
            tracing::warn!(%error, "how far a channel has come is not remembered");
        }
    }
}

/// Returns when the shutdown waits no longer for the delivery in progress.
async fn wait_for_cutoff(end: &ShutdownPhases, is_down: bool) {
    if !is_down {
        return end.over.cancelled().await;
    }
    end.closing.cancelled().await;
    tokio::time::sleep(GRACE_WHEN_DOWN).await;
}

/// Waits for new events, for a time or for the end, whichever comes first.
async fn wait_for_change(
    closing: &CancellationToken,
    time: impl Future<Output = ()>,
    written: &mut watch::Receiver<u64>,
) {
    tokio::select! {
        () = closing.cancelled() => {}
        () = time => {}
        // A closed store has no more events.
        changed = written.changed() => if changed.is_err() { closing.cancelled().await },
    }
}

fn to_undelivered(error: &StoreError) -> DeliveryError {
    DeliveryError::Later { why: error.to_string(), after: None }
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

#[derive(Clone, Default)]
pub(super) struct ShutdownPhases {
    /// Cancelled when no further event follows.
    pub(super) closing: CancellationToken,
    /// Cancelled when messages in progress are left to the next start.
    pub(super) over: CancellationToken,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_try_waits_longer_up_to_a_limit() {
        let waits: Vec<u64> = (1..=9).map(|tries| retry_delay(tries).as_millis() / 1_000).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 640, 900]);
        assert_eq!(retry_delay(u32::MAX), RETRY_MAX);
    }
}
