//! A small façade for programs that run their own loop and only need the retry budget.
//!
//! It uses the same signature records as the engine, so counts can move between the two.

use crate::engine::Signatures;
use crate::fault::{Class, Code};
use crate::policy::RetryLimits;
use crate::signature::Signature;
use crate::time::Time;

/// A counter of failures per error that decides when a person should be asked.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    signatures: Signatures,
    retry: RetryLimits,
    escalations: u32,
}

impl Tracker {
    /// Creates a tracker with its limits over the known signatures.
    pub const fn new(signatures: Signatures, retry: RetryLimits) -> Self {
        Self { signatures, retry, escalations: 0 }
    }

    /// Counts a failure. Returns whether a person should be asked, and the number of the failure.
    pub fn record_and_check(&mut self, signature: Signature, now: Time) -> (bool, u32) {
        let (count, _) = self.signatures.charge_try(signature, now);
        let escalate = count > self.retry.per_signature;
        if escalate {
            self.escalations = self.escalations.saturating_add(1);
        }
        (escalate, count)
    }

    /// Returns whether a person should be asked about an error immediately, without a retry.
    pub const fn should_escalate_immediately(code: Code) -> bool {
        matches!(code.row().class, Class::NeverRetry)
    }

    /// Resets the error: its next failure is the first again.
    pub fn reset_signature(&mut self, signature: Signature) {
        self.signatures.reset(signature);
    }

    /// Returns whether so much was escalated that all work should pause. Unlike the engine, which counts
    /// distinct open questions, this adds up over the tracker's lifetime.
    pub const fn global_threshold_exceeded(&self) -> bool {
        self.escalations >= self.retry.pause_after_questions
    }

    /// Returns the signature records, to be stored and passed to the next tracker.
    pub const fn signatures(&self) -> &Signatures {
        &self.signatures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::EPOCH;

    fn error(name: &str) -> Signature {
        Signature::from_parts(Code::LogicError, "test", &[name])
    }

    // T0.9, T0.10
    #[test]
    fn three_retries_then_it_is_time_to_ask() {
        let mut tracker = Tracker::default();
        let answers: Vec<_> = (0..4).map(|_| tracker.record_and_check(error("a"), NOW)).collect();
        assert_eq!(answers, [(false, 1), (false, 2), (false, 3), (true, 4)]);
    }

    // T0.11
    #[test]
    fn what_was_counted_before_counts_on() {
        let mut before = Tracker::default();
        for _ in 0..3 {
            before.record_and_check(error("a"), NOW);
        }
        let stored = serde_json::to_string(before.signatures()).unwrap();
        let mut after =
            Tracker::new(serde_json::from_str(&stored).unwrap(), RetryLimits::default());
        assert_eq!(after.record_and_check(error("a"), NOW), (true, 4));
    }

    // T0.12, T0.15
    #[test]
    fn errors_count_independently_and_reset_independently() {
        let mut tracker = Tracker::default();
        tracker.record_and_check(error("a"), NOW);
        tracker.record_and_check(error("a"), NOW);
        assert_eq!(tracker.record_and_check(error("b"), NOW), (false, 1));
        tracker.reset_signature(error("a"));
        tracker.reset_signature(error("never seen"));
        assert_eq!(tracker.record_and_check(error("a"), NOW), (false, 1));
        assert_eq!(tracker.record_and_check(error("b"), NOW), (false, 2));
    }

    // T0.13
    #[test]
    fn only_what_cannot_be_retried_is_asked_about_at_once() {
        for &code in Code::ALL {
            assert_eq!(
                Tracker::should_escalate_immediately(code),
                code.row().class == Class::NeverRetry,
                "{code}"
            );
        }
    }

    // T0.14
    #[test]
    fn five_escalations_exceed_the_threshold() {
        let mut tracker = Tracker::default();
        for n in 0..5 {
            assert!(!tracker.global_threshold_exceeded(), "after {n}");
            for _ in 0..4 {
                tracker.record_and_check(error(&n.to_string()), NOW);
            }
        }
        assert!(tracker.global_threshold_exceeded());
    }
}
