//! The waiting messages of a channel, limited to an amount that people want to read.

use std::collections::VecDeque;

use unstuck_core::tell::News;
use unstuck_core::time::{Span, Time};

/// Maximum number of messages that wait individually; older ones are only counted.
pub const WAITING_MAX: usize = 20;
/// Maximum age of a message that is delivered individually.
pub const AGE_MAX: Span = Span::from_hours(48);

/// The waiting messages, oldest first.
#[derive(Debug, Default)]
pub(super) struct WaitingMessages {
    /// The number of messages that were too many or too old, and the newest of them.
    folded: Option<(u32, News)>,
    each: VecDeque<News>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextMessage {
    /// An individual message.
    One(News),
    /// The number of further messages, and the newest of them.
    More(u32, News),
}

impl NextMessage {
    /// Returns the sequence number up to which all is delivered after this message.
    pub(super) const fn delivered_upto(&self) -> u64 {
        match self {
            Self::One(news) | Self::More(_, news) => news.seq,
        }
    }
}

impl WaitingMessages {
    pub(super) fn push(&mut self, news: News) {
        self.each.push_back(news);
        if self.each.len() > WAITING_MAX {
            self.fold_oldest();
        }
    }

    /// Returns the next message; messages that have become too old are only counted.
    pub(super) fn next_message(&mut self, now: Time) -> Option<NextMessage> {
        while self.each.front().is_some_and(|news| now.since(news.at) > AGE_MAX) {
            self.fold_oldest();
        }
        match self.folded {
            Some((number, last)) => Some(NextMessage::More(number, last)),
            None => self.each.front().copied().map(NextMessage::One),
        }
    }

    /// Removes the message that was delivered.
    pub(super) fn remove_delivered(&mut self) {
        if self.folded.take().is_none() {
            self.each.pop_front();
        }
    }

    fn fold_oldest(&mut self) {
        if let Some(oldest) = self.each.pop_front() {
            let number = self.folded.map_or(0, |(number, _)| number);
            self.folded = Some((number.saturating_add(1), oldest));
        }
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::engine::QuestionId;
    use unstuck_core::tell::NewsKind;

    use super::*;

    fn news(seq: u64) -> News {
        let what = NewsKind::Asked(QuestionId(0));
        News { seq, at: Time::from_millis(seq * 1_000), what }
    }

    fn all(waiting: &mut WaitingMessages, now: Time) -> Vec<NextMessage> {
        std::iter::from_fn(|| waiting.next_message(now).inspect(|_| waiting.remove_delivered()))
            .collect()
    }

    #[test]
    fn what_is_too_much_is_told_as_a_number() {
        let mut waiting = WaitingMessages::default();
        (1..=32).for_each(|seq| waiting.push(news(seq)));
        let told = all(&mut waiting, Time::from_millis(40_000));
        assert_eq!(told[0], NextMessage::More(12, news(12)));
        assert_eq!(told[1..], (13..=32).map(|seq| NextMessage::One(news(seq))).collect::<Vec<_>>());
        assert!(told.is_sorted_by_key(NextMessage::delivered_upto));
        assert_eq!(waiting.next_message(Time::from_millis(40_000)), None);
    }

    #[test]
    fn what_is_too_old_is_told_as_a_number() {
        let mut waiting = WaitingMessages::default();
        (1..=3).for_each(|seq| waiting.push(news(seq)));
        let limit = Time::from_millis(2_000) + AGE_MAX;
        assert_eq!(waiting.next_message(limit), Some(NextMessage::More(1, news(1))));
        let told = all(&mut waiting, limit + Span::from_millis(1));
        assert_eq!(told, [NextMessage::More(2, news(2)), NextMessage::One(news(3))]);
    }
}
