//! Judges whether the result of an agent's own command is only an observation, or a fault that is charged.
//!
//! An agent learns by running things that fail: a red test on the way to green and a `grep` without a match
//! cost nothing. A result becomes a fault in two cases:
//!
//! 1. **It is certain.** Its class is `never_retry` or `env_error`, whatever detected it; or its code is
//!    stated by structured facts (policy, path, errno) and is not merely the name for "the command failed".
//!    Each such result is a fault: a network that is down twice was down twice.
//! 2. **It comes back.** An untyped failure, whose signature was seen before, returns from a tree that
//!    changed since: the agent did something about it, and it did not help. It is charged once for that tree;
//!    running the same command again without a change gives no new information and costs nothing (loops are
//!    left to stuck detection).
//!
//! A command that succeeded, and one that exited with 1 without diagnostic output, has no fault to judge. The
//! results of a CLI agent's own tools are never judged here: its attempt is judged by what Unstuck runs and
//! observes. The message is not read; only code, origin of the code and signature count.
//!
//! Design: the engine, "Observation, failure, attempt".

use serde::{Deserialize, Serialize};

use super::hasher::Digest;
use crate::fault::{Class, ClassifiedBy, Code, Fault};
use crate::signature::Signature;

/// Maximum number of signatures that a run remembers. A run with more different errors forgets the one seen
/// longest ago first.
pub const SEEN_SIGNATURES_MAX: usize = 32;

/// The judgement on the result of an agent's own command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[must_use]
pub enum Judgement {
    /// The result goes back to the agent unchanged and charges nothing.
    Observation,
    /// A fault: charged once, and the agent gets the replanning context with it.
    Fault,
}

/// The errors that a run has seen from its own commands, each with the tree it last came from.
///
/// Starts empty with every run: a new attempt may see the old error once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeenErrors {
    /// The errors, least recently seen first.
    entries: Vec<SeenError>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SeenError {
    signature: Signature,
    /// The digest of base→worktree when it was seen; `None` for the unchanged base.
    tree: Option<Digest>,
}

impl SeenErrors {
    /// Judges a result and remembers it.
    ///
    /// `tree` is the digest of the change base→worktree when the command ended, `None` if nothing has
    /// changed.
    pub fn judge(&mut self, fault: Option<&Fault>, tree: impl Into<Option<Digest>>) -> Judgement {
        let tree = tree.into();
        let judgement = self.judge_without_recording(fault, tree);
        if let Some(fault) = fault {
            self.record_seen(fault.signature, tree);
        }
        judgement
    }

    /// Judges a result without remembering it, for a caller that decides first and applies later.
    pub fn judge_without_recording(
        &self,
        fault: Option<&Fault>,
        tree: impl Into<Option<Digest>>,
    ) -> Judgement {
        match fault {
            Some(fault) if is_certain(fault) => Judgement::Fault,
            Some(fault) if self.has_returned(fault.signature, tree.into()) => Judgement::Fault,
            _ => Judgement::Observation,
        }
    }

    /// Remembers that `signature` was seen from `tree`; the second half of [`judge`](Self::judge).
    pub fn record_seen(&mut self, signature: Signature, tree: impl Into<Option<Digest>>) {
        self.entries.retain(|entry| entry.signature != signature);
        let excess = (self.entries.len() + 1).saturating_sub(SEEN_SIGNATURES_MAX);
        self.entries.drain(..excess);
        self.entries.push(SeenError { signature, tree: tree.into() });
    }

    fn has_returned(&self, signature: Signature, tree: Option<Digest>) -> bool {
        self.entries.iter().any(|entry| entry.signature == signature && entry.tree != tree)
    }
}

/// Returns whether a fault is certain. `LOGIC_ERROR` is the default code of a failing command, so its typed
/// origin does not make it certain.
fn is_certain(fault: &Fault) -> bool {
    match fault.class() {
        Class::NeverRetry | Class::EnvError => true,
        Class::CodeError => {
            fault.classified_by == ClassifiedBy::Typed && fault.code() != Code::LogicError
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fault::{Kind, Logic, Origin, Tool};

    const A: Digest = Digest(1);
    const B: Digest = Digest(2);
    const C: Digest = Digest(3);

    fn red(output: &str) -> Fault {
        let signature = Signature::from_output(Code::LogicError, "shell", output, Some(101));
        Fault::logic_error("shell", output, Logic::default()).with_rule("test-runner", signature)
    }

    fn ruled(code: Code) -> Fault {
        let signature = Signature::from_parts(code, "shell", &[]);
        Fault::new(Kind::bare(code), "shell", "").with_rule("phrase", signature)
    }

    fn judged(results: &[(Option<&Fault>, Option<Digest>)]) -> Vec<Judgement> {
        let mut seen = SeenErrors::default();
        results.iter().map(|(fault, tree)| seen.judge(*fault, *tree)).collect()
    }

    // T1.16
    #[test]
    fn a_grep_without_a_match_costs_nothing_however_often() {
        use Judgement::Observation;
        let quiet = (None, Some(A));
        assert_eq!(
            judged(&[quiet, quiet, (None, Some(B)), (None, None)]),
            [Observation, Observation, Observation, Observation]
        );
    }

    // T1.16
    #[test]
    fn a_first_red_test_costs_nothing_and_its_return_from_a_changed_tree_does() {
        use Judgement::{Fault, Observation};
        let one = red("test parses_dates failed");
        let other = red("test parses_times failed");
        let one = Some(&one);
        let other = Some(&other);
        let cases: &[(&str, &[_], &[Judgement])] = &[
            ("first", &[(one, Some(A))], &[Observation]),
            ("same tree", &[(one, Some(A)), (one, Some(A))], &[Observation, Observation]),
            ("changed tree", &[(one, Some(A)), (one, Some(B))], &[Observation, Fault]),
            ("first change", &[(one, None), (one, Some(A))], &[Observation, Fault]),
            (
                "charged once per tree",
                &[(one, Some(A)), (one, Some(B)), (one, Some(B)), (one, Some(C))],
                &[Observation, Fault, Observation, Fault],
            ),
            ("another error", &[(one, Some(A)), (other, Some(B))], &[Observation, Observation]),
            (
                "others in between",
                &[(one, Some(A)), (other, Some(B)), (None, Some(B)), (one, Some(C))],
                &[Observation, Observation, Observation, Fault],
            ),
        ];
        for (name, results, expected) in cases {
            assert_eq!(judged(results), *expected, "{name}");
        }
    }

    // T1.16
    #[test]
    fn what_is_certain_is_a_fault_at_first_sight_and_each_time() {
        let cases = [
            ("rule, env_error", ruled(Code::EnvConnection), Judgement::Fault),
            ("rule, never_retry", ruled(Code::AuthInvalid), Judgement::Fault),
            ("rule, code_error", ruled(Code::ToolMissing), Judgement::Observation),
            (
                "typed by errno",
                Fault::tool_missing("shell", "cannot start", Tool::default()),
                Judgement::Fault,
            ),
            (
                "typed by policy",
                Fault::logic_phase_violation("shell", "", Logic::default()),
                Judgement::Fault,
            ),
            (
                "a failure without a name",
                Fault::from_unclassified(Origin::Agent, "shell", "boom", "exit 3"),
                Judgement::Observation,
            ),
        ];
        for (name, fault, expected) in cases {
            let again = [(Some(&fault), Some(A)), (Some(&fault), Some(A))];
            assert_eq!(judged(&again), [expected, expected], "{name}");
        }
    }

    // B3
    #[test]
    fn words_in_a_message_change_no_judgement() {
        for words in ["rate limit exceeded", "401 Unauthorized", "connection timeout"] {
            let mut fault = red("test parses_dates failed");
            fault.message = words.to_owned();
            assert_eq!(
                SeenErrors::default().judge(Some(&fault), A),
                Judgement::Observation,
                "{words}"
            );
        }
    }

    #[test]
    fn what_was_seen_survives_being_stored() {
        let mut seen = SeenErrors::default();
        let _ = seen.judge(Some(&red("a")), A);
        let _ = seen.judge(Some(&red("b")), None);
        let stored = serde_json::to_string(&seen).unwrap();
        let read: SeenErrors = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, seen);
        assert_eq!(read.judge_without_recording(Some(&red("a")), B), Judgement::Fault);
    }

    #[test]
    fn the_error_seen_longest_ago_is_forgotten_first() {
        let mut seen = SeenErrors::default();
        let fault = |n: usize| red(&format!("test case_{n} failed"));
        for n in 0..SEEN_SIGNATURES_MAX {
            let _ = seen.judge(Some(&fault(n)), A);
        }
        let _ = seen.judge(Some(&fault(0)), A);
        let _ = seen.judge(Some(&fault(SEEN_SIGNATURES_MAX)), A);
        assert_eq!(seen.judge_without_recording(Some(&fault(0)), B), Judgement::Fault);
        assert_eq!(seen.judge_without_recording(Some(&fault(1)), B), Judgement::Observation);
    }

    proptest! {
        #[test]
        fn memory_is_bounded_and_an_unchanged_tree_never_charges_an_untyped_failure(
            steps in prop::collection::vec((0_u8..60, 0_u64..4), 0..200),
        ) {
            let mut seen = SeenErrors::default();
            let mut last: Option<(u8, u64)> = None;
            for (error, tree) in steps {
                let fault = red(&format!("test case_{error} failed"));
                let weighed = seen.judge_without_recording(Some(&fault), Digest(tree));
                let judged = seen.judge(Some(&fault), Digest(tree));
                prop_assert_eq!(weighed, judged);
                if last == Some((error, tree)) {
                    prop_assert_eq!(judged, Judgement::Observation);
                }
                last = Some((error, tree));
                prop_assert!(seen.entries.len() <= SEEN_SIGNATURES_MAX);
            }
        }
    }
}
