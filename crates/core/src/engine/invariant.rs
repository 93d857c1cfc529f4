//! Invariants of the state: everything that an event changes exists, and counts agree with what they
//! count.
//!
//! A broken invariant ends a test where it is met. In production the decision leaves out what it
//! cannot do, and the runner reports an internal fault. A journal that breaks one is refused.

use super::ids::{BuildId, MutationId, QuestionId, RunId, TaskId};
use crate::fault::{Fault, Internal};
use crate::plan::GateKey;

/// The part that the faults of broken invariants name.
const COMPONENT: &str = "engine";

/// An invariant of the state that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenInvariant {
    /// The build is named and does not exist.
    #[error("build {0} is named and does not exist")]
    NoBuild(BuildId),
    /// The task is named and does not exist.
    #[error("task {0} is named and does not exist")]
    NoTask(TaskId),
    /// The run is named and does not exist, or has ended.
    #[error("run {0} is named and does not exist, or has ended")]
    NoRun(RunId),
    /// The question is named and is not open.
    #[error("question {0} is named and is not open")]
    NoQuestion(QuestionId),
    /// The action is named and is not in the ledger.
    #[error("action {0} is named and is not in the ledger")]
    NoAction(MutationId),
    /// The gate is named and does not exist.
    #[error("gate {0} is named and does not exist")]
    NoGate(GateKey),
    /// The task waits for the outcome of an action, and none of its actions is open.
    #[error("task {0} waits for the outcome of an action, and none is open")]
    NoOpenAction(TaskId),
    /// A timer was due and led to no event.
    #[error("a timer was due and led to nothing")]
    IdleTimer,
    /// The count is zero and was to be reduced.
    #[error("the number of {0} would fall below zero")]
    CountBelowZero(&'static str),
}

impl BrokenInvariant {
    /// Converts the broken invariant to a fault with the source `engine`.
    pub fn to_fault(self) -> Fault {
        let context = Internal { component: COMPONENT.to_owned() };
        Fault::internal_error(COMPONENT, self.to_string(), context)
    }
}

/// An event of a journal that does not fit the events before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} of the journal does not fit the events before it: {broken}")]
pub struct ReplayError {
    /// Position of the event.
    pub seq: u64,
    /// The invariant that the event breaks.
    pub broken: BrokenInvariant,
}

/// Reduces a count of `what` by one. A count that is zero stays, and `broken` notes it.
pub(super) fn count_down(
    count: &mut u32,
    what: &'static str,
    broken: &mut Option<BrokenInvariant>,
) {
    match count.checked_sub(1) {
        Some(less) => *count = less,
        None => *broken = broken.or(Some(BrokenInvariant::CountBelowZero(what))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_stays_at_zero_and_the_first_broken_invariant_is_noted() {
        let mut broken = None;
        let mut count = 1;
        count_down(&mut count, "things", &mut broken);
        assert_eq!((count, broken), (0, None));
        count_down(&mut count, "things", &mut broken);
        count_down(&mut count, "other things", &mut broken);
        assert_eq!((count, broken), (0, Some(BrokenInvariant::CountBelowZero("things"))));
    }
}
