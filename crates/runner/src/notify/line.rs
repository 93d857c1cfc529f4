//! The queue of one channel: the messages that it has yet to deliver, in order, one at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::tell::{Message, news};
use unstuck_core::time::{Span, Time};
use unstuck_store::{Outbox, Page, Store, StoreError, crash};
use unstuck_world::notify::{Channel, Undelivered};

use super::sender::{End, Links};
use super::waiting::{Next, Waiting};
use super::words::Words;
use crate::clock::Clock;

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
pub(super) struct Shared {
    pub(super) store: Arc<dyn Store>,
    pub(super) project: Arc<str>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) links: Option<Arc<dyn Links>>,
}

/// The queue of one channel.
pub(super) struct Line {
    shared: Shared,
    channel: Channel,
    /// The delivery state, stored or to be stored with the next successful write.
    outbox: Outbox,
    /// The sequence number of the last event read.
    read: u64,
    waiting: Waiting,
}

/// The next step of a channel.
enum Step {
    /// No message is waiting.
    Rest,
    /// The time before which no message is delivered.
    Wait(Time),
    Tell(Next),
}

/// Returns the backoff after so many failed tries.
pub fn retry_in(tries: u32) -> Span {
    let factor = 1_u64.checked_shl(tries.saturating_sub(1)).unwrap_or(u64::MAX);
    RETRY_FIRST.times(factor).min(RETRY_MAX)
}

impl Line {
    /// Opens a channel at its stored position; a new one begins with the events from now on.
    pub(super) async fn open(shared: Shared, channel: Channel) -> Result<Self, StoreError> {
        let outbox = shared.store.outbox(&shared.project, channel.name()).await?;
        let read = outbox.upto;
        Ok(Self { shared, channel, outbox, read, waiting: Waiting::default() })
    }

    /// Delivers messages until the end, and then those that can be delivered at once.
    pub(super) async fn run(mut self, end: End) {
        let closing = &end.closing;
        let mut written = self.shared.store.subscribe(&self.shared.project);
        loop {
            written.mark_unchanged();
            let read = self.read_on().await;
            let step = match read {
                Ok(()) => self.step(),
                Err(error) => {
                    tracing::warn!(%error, "events cannot be read, so no notification is sent");
                    Step::Wait(self.now() + RETRY_FIRST)
                }
            };
            match step {
                Step::Tell(next) => {
                    let is_down = self.outbox.tries > 0;
                    tokio::select! {
                        () = self.tell(next) => {}
                        () = too_late(&end, is_down) => {
                            let why = "it was not told before the end".to_owned();
                            self.later(why, None).await;
                        }
                    }
                }
                Step::Rest | Step::Wait(_) if closing.is_cancelled() => break,
                Step::Rest => wait(closing, std::future::pending(), &mut written).await,
                Step::Wait(at) => {
                    wait(closing, self.shared.clock.until(at), &mut written).await;
                }
            }
        }
        self.pass(0).await;
    }

    fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// Reads to the end of the journal.
    async fn read_on(&mut self) -> Result<(), StoreError> {
        loop {
            let page = Page { after: self.read, limit: PAGE_EVENTS };
            let events = self.shared.store.events(&self.shared.project, page).await?;
            let Some(last) = events.last() else { break };
            self.read = last.seq;
            let heard = events.iter().filter_map(news);
            for news in heard.filter(|news| news.level() <= self.channel.level()) {
                self.waiting.push(news);
            }
        }
        self.pass(PASSED_EVENTS).await;
        Ok(())
    }

    /// Stores the position if more than `many` events were without a message.
    async fn pass(&mut self, many: u64) {
        let idle = self.waiting.next(self.now()).is_none();
        if idle && self.read > self.outbox.upto.saturating_add(many) {
            self.remember(Outbox::told(self.read)).await;
        }
    }

    fn step(&mut self) -> Step {
        let now = self.now();
        let Some(next) = self.waiting.next(now) else { return Step::Rest };
        let again = self.outbox.retry_at.filter(|at| *at > now);
        match again.max(self.channel.quiet_until(now)) {
            Some(at) => Step::Wait(at),
            None => Step::Tell(next),
        }
    }

    async fn tell(&mut self, next: Next) {
        let words = Words { store: &*self.shared.store, project: &self.shared.project };
        match words.of(&next).await {
            Ok(Some(message)) => {
                let message = self.with_links(message);
                match self.channel.deliver(&message, self.now()).await {
                    Ok(()) => {
                        tracing::debug!(channel = self.channel.name(), id = message.id, "told");
                        self.told(next).await;
                    }
                    Err(error) => self.not_told(next, error).await,
                }
            }
            Ok(None) => self.told(next).await,
            Err(error) => self.not_told(next, unreadable(&error)).await,
        }
    }

    /// Adds links for the answer to a message that asks a question.
    fn with_links(&self, message: Message) -> Message {
        match (&self.shared.links, message.question) {
            (Some(links), Some(question)) => {
                let links = links.of(self.channel.name(), question, &message.options);
                message.linked(links)
            }
            _ => message,
        }
    }

    async fn told(&mut self, next: Next) {
        // After a crash at this point the message is delivered again, with the same id.
        crash::point();
        self.waiting.told();
        self.remember(Outbox::told(next.upto())).await;
    }

    async fn not_told(&mut self, next: Next, error: Undelivered) {
        let channel = self.channel.name();
        match error {
            Undelivered::Never { why } => {
                tracing::error!(channel, why, "a message cannot be delivered and is given up");
                self.told(next).await;
            }
            Undelivered::Later { why, after } => {
                let asked = after.map(|wait| wait.end(self.now()));
                self.later(why, asked).await;
            }
        }
    }

    /// Schedules the next try, not before the time that was asked for.
    async fn later(&mut self, why: String, asked: Option<Time>) {
        let now = self.now();
        let tries = self.outbox.tries.saturating_add(1);
        let asked = asked.map(|at| at.min(now + ASKED_MAX));
        let retry_at = asked.max(Some(now + retry_in(tries)));
        let channel = self.channel.name();
        tracing::warn!(channel, why, tries, "a message is delivered later");
        self.remember(Outbox { upto: self.outbox.upto, tries, retry_at }).await;
    }

    /// Stores the delivery state. If that fails, the next process delivers the message once more.
    async fn remember(&mut self, outbox: Outbox) {
        self.outbox = outbox;
        let Shared { store, project, .. } = &self.shared;
        if let Err(error) = store.told(project, self.channel.name(), outbox).await {
            tracing::warn!(%error, "how far a channel has come is not remembered");
        }
    }
}

/// Returns when the shutdown waits no longer for the delivery in progress.
async fn too_late(end: &End, is_down: bool) {
    if !is_down {
        return end.over.cancelled().await;
    }
    end.closing.cancelled().await;
    tokio::time::sleep(GRACE_WHEN_DOWN).await;
}

/// Waits for new events, for a time or for the end, whichever comes first.
async fn wait(
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

fn unreadable(error: &StoreError) -> Undelivered {
    Undelivered::Later { why: error.to_string(), after: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_try_waits_longer_up_to_a_limit() {
        let waits: Vec<u64> = (1..=9).map(|tries| retry_in(tries).as_millis() / 1_000).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 640, 900]);
        assert_eq!(retry_in(u32::MAX), RETRY_MAX);
    }
}
