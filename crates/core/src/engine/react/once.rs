//! Repeats an operation once, at once, because it often succeeds the second time.

use std::sync::Arc;

use super::ask::ask_about_fault;
use super::resume_at_step;
use crate::engine::event::{Event, Reconciled};
use crate::engine::flow;
use crate::engine::ids::RunId;
use crate::engine::run::{Phase, Step};
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Fault, Reaction};

pub(super) fn retry_once(
    turn: &mut Transition<'_>,
    run: RunId,
    fault: &Arc<Fault>,
    reaction: Reaction,
) {
    let Some(step) = turn.state.run(run).map(|run| run.step) else { return };
    let (counter, count) = count_failures(turn, run, fault);
    let limit = turn.policy.retry.git;
    let why = |rule| Why::with_code(rule, fault.code()).with_count(counter, count, limit);
    if count <= limit {
        resume_at_step(turn, run, step);
    } else if reaction == Reaction::RetryOnceWarn {
        continue_with_warning(turn, run, step, fault, why(Rule::GoesOnWithWarning));
    } else {
        ask_about_fault(turn, run, fault, why(Rule::MaxRetriesExceeded));
    }
}

/// Returns the counter that the fault charges and its number of consecutive failures.
fn count_failures(turn: &Transition<'_>, run: RunId, fault: &Fault) -> (Charge, u32) {
    let Some(run) = turn.state.run(run) else { return (Charge::Git, 0) };
    let Some(task) = turn.state.task(run.task) else { return (Charge::Git, 0) };
    if fault.code().charges(task.work()).contains(&Charge::Git) {
        (Charge::Git, task.counters.git)
    } else {
        (Charge::Transient, task.transient_failures(run.step.operation()).count)
    }
}

/// Continues the work with a warning. A failed action is skipped, and so are the actions that need
/// it.
fn continue_with_warning(
    turn: &mut Transition<'_>,
    run: RunId,
    step: Step,
    fault: &Fault,
    why: Why,
) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
    turn.emit_with_reason(Event::Warned { task, run, code: fault.code() }, why.clone());
    if let Some(mutation) = turn.state.mutation_at(run) {
        let to = Reconciled::Skipped;
        turn.emit_with_reason(
            Event::MutationReconciled { mutation, to, result: Arc::from("") },
            why,
        );
    }
    // Actions are walked again: the ledger knows that this one is settled.
    match step {
        Step::Mutate { .. } => resume_at_step(turn, run, step),
        // Only the session's runtime can say that the work is done.
        Step::Attempt { .. } if flow::is_session_run(turn, run) => resume_at_step(turn, run, step),
        Step::Execute => {
            flow::reach_phase(turn, run, Phase::Emitting);
            resume_at_step(turn, run, Step::Emit);
        }
        _ => flow::finish_step(turn, run, step),
    }
}
