//! What is good for one time, or was ended before its time, until it would have ended anyway.

use std::collections::HashMap;

use unstuck_core::time::Time;

/// How many are remembered. They are all signed by us, so nobody can fill this up.
const REMEMBERED_MAX: usize = 10_000;

/// What must not be used again.
#[derive(Debug, Default)]
pub(super) struct Spent {
    until: HashMap<String, Time>,
}

impl Spent {
    /// Spends something that ends by itself at `until`. Whether it was still there to be spent.
    pub(super) fn spend(&mut self, id: &str, until: Time, now: Time) -> bool {
        self.until.retain(|_, until| now < *until);
        if self.until.contains_key(id) || self.until.len() >= REMEMBERED_MAX {
            return false;
        }
        self.until.insert(id.to_owned(), until);
        true
    }

    /// Whether it was.
    pub(super) fn is_spent(&self, id: &str) -> bool {
        self.until.contains_key(id)
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::time::Span;

    use super::*;

    #[test]
    fn something_is_spent_once_and_remembered_as_long_as_it_matters() {
        let (mut spent, now) = (Spent::default(), Time::from_millis(1_000));
        let end = now + Span::from_secs(1);
        assert!(!spent.is_spent("a"));
        assert!(spent.spend("a", end, now));
        assert!(spent.is_spent("a"));
        assert!(!spent.spend("a", end, now));
        assert!(spent.spend("b", end, end));
        assert_eq!(spent.until.len(), 1);
    }

    #[test]
    fn when_there_is_no_room_nothing_is_spent_twice() {
        let (mut spent, now) = (Spent::default(), Time::from_millis(1_000));
        for number in 0..REMEMBERED_MAX {
            assert!(spent.spend(&number.to_string(), now + Span::from_secs(1), now));
        }
        assert!(!spent.spend("one more", now + Span::from_secs(1), now));
        assert!(spent.is_spent("0"));
    }
}
