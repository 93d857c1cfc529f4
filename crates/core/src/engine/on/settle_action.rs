//! Settles the result of an action's call or probe, and handles `CheckAgain`, which probes an action
//! once more before the operator says whether it happened.

use std::sync::Arc;

use crate::engine::command::CommandRejection;
use crate::engine::event::{Event, Reconciled};
use crate::engine::flow;
use crate::engine::ids::{EffectId, MutationId, QuestionId, RunId};
use crate::engine::ledger::MutationState;
use crate::engine::question::Subject;
use crate::engine::react::{ask_about_action, record_fault};
use crate::engine::report::EffectOutcome;
use crate::engine::run::Step;
use crate::engine::task::TaskState;
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::Fault;
use crate::plan::MutationKind;
use crate::time::{Span, Time};

/// Number of probes of an action at which a failed probe counts as inconclusive.
const PROBES_MAX: u32 = 5;

pub(super) fn handle_settle_action(
    turn: &mut Transition<'_>,
    effect: EffectId,
    id: MutationId,
    outcome: EffectOutcome,
) -> Result<(), CommandRejection> {
    let mutation = turn.state.mutation(id).ok_or(CommandRejection::Stale(effect))?;
    match mutation.state {
        MutationState::InFlight { .. } => settle_performed(turn, effect, id, outcome),
        MutationState::Probing { .. } => settle_probed(turn, effect, id, outcome),
        _ => Err(CommandRejection::Stale(effect)),
    }
}

fn settle_performed(
    turn: &mut Transition<'_>,
    effect: EffectId,
    id: MutationId,
    outcome: EffectOutcome,
) -> Result<(), CommandRejection> {
    match outcome {
        EffectOutcome::Applied { result } => {
            turn.emit_event(Event::MutationApplied { mutation: id, result });
            flow::continue_after_action(turn, id);
        }
        EffectOutcome::Failed { fault, .. } => {
            turn.emit_event(Event::MutationFailed { mutation: id });
            handle_not_applied(turn, id, &fault);
        }
        EffectOutcome::Unknown { fault } => probe_unknown_outcome(turn, id, &fault),
        EffectOutcome::HeadMoved if is_merge(turn, id) => {
            turn.emit_with_reason(
                Event::MutationFailed { mutation: id },
                Why::from_rule(Rule::HeadMoved),
            );
            if let Some(run) = run_at_action(turn, id) {
                flow::move_to_step(turn, run, Step::Check);
            }
        }
        _ => return Err(CommandRejection::Misfit(effect)),
    }
    Ok(())
}

fn is_merge(turn: &Transition<'_>, id: MutationId) -> bool {
    turn.known_mutation(id).is_some_and(|mutation| mutation.spec.kind == MutationKind::Merge)
}

fn is_push(turn: &Transition<'_>, id: MutationId) -> bool {
    turn.known_mutation(id).is_some_and(|mutation| mutation.spec.kind == MutationKind::Push)
}

/// Returns the run whose current step is this action. A job's script receives the results of its
/// actions itself.
fn run_at_action(turn: &Transition<'_>, id: MutationId) -> Option<RunId> {
    let run = turn.state.run(turn.known_mutation(id)?.run)?;
    matches!(run.step, Step::Mutate { .. }).then_some(run.id)
}

fn handle_not_applied(turn: &mut Transition<'_>, id: MutationId, fault: &Arc<Fault>) {
    match run_at_action(turn, id) {
        Some(run) => flow::handle_failure(turn, run, fault, None),
        None => flow::continue_after_action(turn, id),
    }
}

/// Probes an action whose call was lost on its way out or back, before anything else happens.
fn probe_unknown_outcome(turn: &mut Transition<'_>, id: MutationId, fault: &Arc<Fault>) {
    let Some(run) = run_at_action(turn, id) else {
        pause_session(turn, id);
        flow::probe_action(turn, id, fault.evidence_text());
        return;
    };
    let Some((task, next)) = turn.known_run(run).map(|run| (run.task, run.position().to_resumed()))
    else {
        return;
    };
    record_fault(turn, run, fault, None, true);
    flow::reconcile_run(turn, task, run, Some(Arc::clone(fault)), next);
    flow::probe_action(turn, id, fault.evidence_text());
}

/// Pauses a session until the outcome of its action is known; a job's script is not held up.
fn pause_session(turn: &mut Transition<'_>, id: MutationId) {
    let run = turn.known_mutation(id).and_then(|known| turn.state.run(known.run));
    let Some((run, task, next)) = run.map(|run| (run.id, run.task, run.position().to_resumed()))
    else {
        return;
    };
    if turn.is_session_run(run) {
        flow::reconcile_run(turn, task, run, None, next);
    }
}

fn settle_probed(
    turn: &mut Transition<'_>,
    effect: EffectId,
    id: MutationId,
    outcome: EffectOutcome,
) -> Result<(), CommandRejection> {
    let why = Why::from_rule(Rule::ProbeFirst);
    match outcome {
        EffectOutcome::Applied { result } => {
            let to = Reconciled::Applied;
            // The action happened after all, so the fault of its call is no failure of it.
            turn.emit_with_reason(Event::MutationReconciled { mutation: id, to, result }, why);
            drop_pending_fault(turn, id);
            flow::continue_after_action(turn, id);
        }
        EffectOutcome::NotApplied => match settles_at(turn, id) {
            Some(until) => {
                turn.emit_with_reason(
                    Event::MutationSettling { mutation: id, until, said: None },
                    why,
                );
            }
            None => {
                let to = Reconciled::NotApplied;
                let result = Arc::from("");
                turn.emit_with_reason(Event::MutationReconciled { mutation: id, to, result }, why);
                flow::continue_after_action(turn, id);
            }
        },
        EffectOutcome::CannotTell { said } => ask_indeterminate(turn, id, said),
        // The same commit may be pushed to the same ref again, so the outcome need not be known.
        EffectOutcome::Failed { .. } | EffectOutcome::Unknown { .. } if is_push(turn, id) => {
            let to = Reconciled::NotApplied;
            let result = Arc::from("");
            turn.emit_with_reason(Event::MutationReconciled { mutation: id, to, result }, why);
            flow::continue_after_action(turn, id);
        }
        EffectOutcome::Failed { fault, .. } | EffectOutcome::Unknown { fault } => {
            let said = fault.evidence_text();
            let probes = turn.known_mutation(id).map_or(0, |mutation| mutation.probes);
            if probes >= PROBES_MAX {
                ask_indeterminate(turn, id, said);
            } else {
                let wait = turn.policy.backoff.jittered_wait(probes.saturating_sub(1), turn.rng);
                let until = turn.now + wait;
                turn.emit_with_reason(Event::MutationSettling { mutation: id, until, said }, why);
            }
        }
        _ => return Err(CommandRejection::Misfit(effect)),
    }
    Ok(())
}

/// Drops the pending fault of a task whose action happened. A job's script died all the same.
fn drop_pending_fault(turn: &mut Transition<'_>, id: MutationId) {
    let Some(mutation) = turn.known_mutation(id) else { return };
    let task = mutation.task;
    let run = mutation.run;
    let Some(TaskState::Reconciling { .. }) = turn.known_task(task).map(|task| &task.state) else {
        return;
    };
    if run_at_action(turn, id).is_some()
        && let Some(next) = turn.known_task(task).map(|task| task.next)
    {
        let why = Why::from_rule(Rule::WaitOver);
        turn.emit_with_reason(Event::TaskReconciling { task, run, fault: None, next }, why);
    }
}

fn ask_indeterminate(turn: &mut Transition<'_>, id: MutationId, said: Option<Arc<str>>) {
    let unclear = Event::MutationIndeterminate { mutation: id, said };
    turn.emit_with_reason(unclear, Why::from_rule(Rule::CannotTell));
    ask_about_action(turn, id);
}

/// Returns the time from which an absent result means that the action did not happen; `None` if it
/// means so already.
fn settles_at(turn: &Transition<'_>, id: MutationId) -> Option<Time> {
    let mutation = turn.known_mutation(id)?;
    let until = mutation.sent_at + mutation.spec.settle_ms;
    // The time of the probe counts, not the time at which its result arrives.
    let settled = mutation.spec.idempotent
        || mutation.spec.settle_ms == Span::ZERO
        || mutation.probed_at >= until;
    (!settled).then_some(until)
}

/// Probes an action once more.
pub(super) fn handle_check_again(
    turn: &mut Transition<'_>,
    id: QuestionId,
) -> Result<(), CommandRejection> {
    let question = turn.state.question(id).ok_or(CommandRejection::NoQuestion(id))?;
    let Subject::Action(mutation) = question.subject else {
        return Err(CommandRejection::NotNow {
            what: format!("question {id}"),
            state: "not about that",
        });
    };
    let known = turn.state.mutation(mutation).ok_or(CommandRejection::NoQuestion(id))?;
    if !known.spec.probe {
        let what = format!("question {id}");
        return Err(CommandRejection::NotNow {
            what,
            state: "about something that cannot be looked up",
        });
    }
    let task = turn.find_task(known.task)?;
    let (task, run, fault, next) = (task.id, known.run, task.unsettled.clone(), task.next);
    turn.emit_event(Event::QuestionWithdrawn { question: id });
    let why = Why::from_rule(Rule::PersonAsked);
    turn.emit_with_reason(Event::TaskReconciling { task, run, fault, next }, why.clone());
    turn.emit_with_reason(Event::MutationProbing { mutation, called_at: None, said: None }, why);
    Ok(())
}
