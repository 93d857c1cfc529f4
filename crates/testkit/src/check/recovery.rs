//! Invariants of a restart, which may change almost nothing.

use unstuck_core::engine::{Counters, EffectKind, MutationState, State, Task, TaskState};

use super::{Violation, require};
use crate::elsewhere::is_elsewhere;

/// Checks that counters and waits after a restart equal those before it (I10), and that no action that may
/// have been sent is sent again before it was looked up (I4).
pub fn check_recovery(before: &State, after: &State) -> Result<(), Violation> {
    for task in before.tasks() {
        let Some(now) = after.task(task.id) else { continue };
        let was = without_crashes(task.counters);
        let is = without_crashes(now.counters);
        require(was == is, "I10", || format!("{}: {was:?} became {is:?}", task.id))?;
        require(task.charged == now.charged, "I10", || format!("{} charges", task.id))?;
        if let TaskState::BackingOff { until: Some(_), .. } | TaskState::Parked { .. } = task.state
        {
            require(task.state == now.state, "I10: waits stay", || {
                format!("{}: {:?} became {:?}", task.id, task.state, now.state)
            })?;
        }
    }
    require(before.signatures() == after.signatures(), "I10", || "signatures changed".to_owned())?;
    for effect in after.outstanding_effects() {
        let old = effect.id.0 <= before.seq();
        require(
            !old || matches!(effect.what, EffectKind::Probe { .. }) || is_elsewhere(after, &effect),
            "nothing survives a crash",
            || format!("{effect:?} is still owed"),
        )?;
    }
    for mutation in after.mutations() {
        let sent = |state: &MutationState| matches!(state, MutationState::InFlight { .. });
        let was_sent = before.mutation(mutation.id).is_some_and(|was| sent(&was.state));
        if after.task(mutation.task).is_some_and(Task::is_session) {
            // The external runtime that sent it still exists, and reports its outcome.
            let was = before.mutation(mutation.id).map(|was| &was.state);
            require(was == Some(&mutation.state), "I10", || format!("{} changed", mutation.id))?;
            continue;
        }
        require(!(was_sent && sent(&mutation.state)), "I4", || {
            format!("{} is sent again without being looked up", mutation.id)
        })?;
    }
    Ok(())
}

const fn without_crashes(counters: Counters) -> Counters {
    Counters { crashes: 0, ..counters }
}
