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
pub(super) struct Waiting {
    /// The number of messages that were too many or too old, and the newest of them.
    folded: Option<(u32, News)>,
    each: VecDeque<News>,
}

/// The next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// An individual message.
    One(News),
    /// The number of further messages, and the newest of them.
    More(u32, News),
}

impl Next {
    /// Returns the sequence number up to which all is delivered after this message.
    pub(super) const fn upto(&self) -> u64 {
        match self {
            Self::One(news) | Self::More(_, news) => news.seq,
        }
    }
}

impl Waiting {
    pub(super) fn push(&mut self, news: News) {
        self.each.push_back(news);
        if self.each.len() > WAITING_MAX {
            self.fold();
        }
    }

    /// Returns the next message; messages that have become too old are only counted.
    pub(super) fn next(&mut self, now: Time) -> Option<Next> {
        while self.each.front().is_some_and(|news| now.since(news.at) > AGE_MAX) {
            self.fold();
        }
        match self.folded {
            Some((number, last)) => Some(Next::More(number, last)),
            None => self.each.front().copied().map(Next::One),
        }
    }

    /// Removes the message that was delivered.
    pub(super) fn told(&mut self) {
        if self.folded.take().is_none() {
            self.each.pop_front();
        }
    }

    fn fold(&mut self) {
        if let Some(oldest) = self.each.pop_front() {
            let number = self.folded.map_or(0, |(number, _)| number);
            self.folded = Some((number.saturating_add(1), oldest));
        }
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::engine::QuestionId;
    use unstuck_core::tell::Happened;

    use super::*;

    fn news(seq: u64) -> News {
        let what = Happened::Asked(QuestionId(0));
        News { seq, at: Time::from_millis(seq * 1_000), what }
    }

    fn all(waiting: &mut Waiting, now: Time) -> Vec<Next> {
        std::iter::from_fn(|| waiting.next(now).inspect(|_| waiting.told())).collect()
    }

    #[test]
    fn what_is_too_much_is_told_as_a_number() {
        let mut waiting = Waiting::default();
        (1..=32).for_each(|seq| waiting.push(news(seq)));
        let told = all(&mut waiting, Time::from_millis(40_000));
        assert_eq!(told[0], Next::More(12, news(12)));
        assert_eq!(told[1..], (13..=32).map(|seq| Next::One(news(seq))).collect::<Vec<_>>());
        assert!(told.is_sorted_by_key(Next::upto));
        assert_eq!(waiting.next(Time::from_millis(40_000)), None);
    }

    #[test]
    fn what_is_too_old_is_told_as_a_number() {
        let mut waiting = Waiting::default();
        (1..=3).for_each(|seq| waiting.push(news(seq)));
        let limit = Time::from_millis(2_000) + AGE_MAX;
        assert_eq!(waiting.next(limit), Some(Next::More(1, news(1))));
        let told = all(&mut waiting, limit + Span::from_millis(1));
        assert_eq!(told, [Next::More(2, news(2)), Next::One(news(3))]);
    }
}
