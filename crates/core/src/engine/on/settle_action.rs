//! Settles the result of an action's call or probe.

use std::sync::Arc;

use crate::engine::command::{Outcome, Rejected};
use crate::engine::event::{Event, Reconciled};
use crate::engine::flow;
use crate::engine::ids::{EffectId, MutationId, RunId};
use crate::engine::ledger::MutationState;
use crate::engine::react::{ask_about_action, fail, meet};
use crate::engine::run::Step;
use crate::engine::task::TaskState;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::Fault;
use crate::plan::MutationKind;
use crate::time::{Span, Time};

/// Number of probes of an action at which a failed probe counts as inconclusive.
const PROBES_MAX: u32 = 5;

pub(super) fn on(
    turn: &mut Turn<'_>,
    effect: EffectId,
    id: MutationId,
    outcome: Outcome,
) -> Result<(), Rejected> {
    let mutation = turn.state.mutation(id).ok_or(Rejected::Stale(effect))?;
    match mutation.state {
        MutationState::InFlight { .. } => performed(turn, effect, id, outcome),
        MutationState::Probing { .. } => probed(turn, effect, id, outcome),
        _ => Err(Rejected::Stale(effect)),
    }
}

fn performed(
    turn: &mut Turn<'_>,
    effect: EffectId,
    id: MutationId,
    outcome: Outcome,
) -> Result<(), Rejected> {
    match outcome {
        Outcome::Applied { result } => {
            turn.emit(Event::MutationApplied { mutation: id, result });
            flow::action_settled(turn, id);
        }
        Outcome::Failed { fault, .. } => {
            turn.emit(Event::MutationFailed { mutation: id });
            did_not_happen(turn, id, &fault);
        }
        Outcome::Unknown { fault } => unknown(turn, id, &fault),
        Outcome::HeadMoved if is_merge(turn, id) => {
            turn.decide(Event::MutationFailed { mutation: id }, Why::rule(Rule::HeadMoved));
            if let Some(run) = run_at_it(turn, id) {
                flow::go(turn, run, Step::Check);
            }
        }
        _ => return Err(Rejected::Misfit(effect)),
    }
    Ok(())
}

fn is_merge(turn: &Turn<'_>, id: MutationId) -> bool {
    turn.state.mutation(id).is_some_and(|mutation| mutation.spec.kind == MutationKind::Merge)
}

fn is_push(turn: &Turn<'_>, id: MutationId) -> bool {
    turn.state.mutation(id).is_some_and(|mutation| mutation.spec.kind == MutationKind::Push)
}

/// Returns the run whose current step is this action. A job's script receives the results of its
/// actions itself.
fn run_at_it(turn: &Turn<'_>, id: MutationId) -> Option<RunId> {
    let run = turn.state.run(turn.state.mutation(id)?.run)?;
    matches!(run.step, Step::Mutate { .. }).then_some(run.id)
}

fn did_not_happen(turn: &mut Turn<'_>, id: MutationId, fault: &Arc<Fault>) {
    match run_at_it(turn, id) {
        Some(run) => fail(turn, run, fault, None),
        None => flow::action_settled(turn, id),
    }
}

/// Probes an action whose call was lost on its way out or back, before anything else happens.
fn unknown(turn: &mut Turn<'_>, id: MutationId, fault: &Arc<Fault>) {
    let Some(run) = run_at_it(turn, id) else {
        stand_still(turn, id);
        flow::probe(turn, id, fault.words());
        return;
    };
    let Some((task, next)) = turn.state.run(run).map(|run| (run.task, run.place().resumed()))
    else {
        return;
    };
    meet(turn, run, fault, None, true);
    flow::reconcile(turn, task, run, Some(Arc::clone(fault)), next);
    flow::probe(turn, id, fault.words());
}

/// Pauses a session until the outcome of its action is known; a job's script is not held up.
fn stand_still(turn: &mut Turn<'_>, id: MutationId) {
    let run = turn.state.mutation(id).and_then(|known| turn.state.run(known.run));
    let Some((run, task, next)) = run.map(|run| (run.id, run.task, run.place().resumed())) else {
        return;
    };
    if flow::is_session(turn, run) {
        flow::reconcile(turn, task, run, None, next);
    }
}

fn probed(
    turn: &mut Turn<'_>,
    effect: EffectId,
    id: MutationId,
    outcome: Outcome,
) -> Result<(), Rejected> {
    let why = Why::rule(Rule::ProbeFirst);
    match outcome {
        Outcome::Applied { result } => {
            let to = Reconciled::Applied;
            // The action happened after all, so the fault of its call is no failure of it.
            turn.decide(Event::MutationReconciled { mutation: id, to, result }, why);
            forgive(turn, id);
            flow::action_settled(turn, id);
        }
        Outcome::NotApplied => match settles_at(turn, id) {
            Some(until) => {
                turn.decide(Event::MutationSettling { mutation: id, until, said: None }, why);
            }
            None => {
                let to = Reconciled::NotApplied;
                let result = Arc::from("");
                turn.decide(Event::MutationReconciled { mutation: id, to, result }, why);
                flow::action_settled(turn, id);
            }
        },
        Outcome::CannotTell { said } => cannot_tell(turn, id, said),
        // The same commit may be pushed to the same ref again, so the outcome need not be known.
        Outcome::Failed { .. } | Outcome::Unknown { .. } if is_push(turn, id) => {
            let to = Reconciled::NotApplied;
            let result = Arc::from("");
            turn.decide(Event::MutationReconciled { mutation: id, to, result }, why);
            flow::action_settled(turn, id);
        }
        Outcome::Failed { fault, .. } | Outcome::Unknown { fault } => {
            let said = fault.words();
            let probes = turn.state.mutation(id).map_or(0, |mutation| mutation.probes);
            if probes >= PROBES_MAX {
                cannot_tell(turn, id, said);
            } else {
                let wait = turn.policy.backoff.wait(probes.saturating_sub(1), turn.rng);
                let until = turn.now + wait;
                turn.decide(Event::MutationSettling { mutation: id, until, said }, why);
            }
        }
        _ => return Err(Rejected::Misfit(effect)),
    }
    Ok(())
}

/// Drops the pending fault of a task whose action happened. A job's script died all the same.
fn forgive(turn: &mut Turn<'_>, id: MutationId) {
    let Some(mutation) = turn.state.mutation(id) else { return };
    let task = mutation.task;
    let run = mutation.run;
    let Some(TaskState::Reconciling { .. }) = turn.state.task(task).map(|task| &task.state) else {
        return;
    };
    if run_at_it(turn, id).is_some()
        && let Some(next) = turn.state.task(task).map(|task| task.next)
    {
        let why = Why::rule(Rule::WaitOver);
        turn.decide(Event::TaskReconciling { task, run, fault: None, next }, why);
    }
}

fn cannot_tell(turn: &mut Turn<'_>, id: MutationId, said: Option<Arc<str>>) {
    let unclear = Event::MutationIndeterminate { mutation: id, said };
    turn.decide(unclear, Why::rule(Rule::CannotTell));
    ask_about_action(turn, id);
}

/// Returns the time from which an absent result means that the action did not happen; `None` if it
/// means so already.
fn settles_at(turn: &Turn<'_>, id: MutationId) -> Option<Time> {
    let mutation = turn.state.mutation(id)?;
    let until = mutation.sent_at + mutation.spec.settle_ms;
    // The time of the probe counts, not the time at which its result arrives.
    let settled = mutation.spec.idempotent
        || mutation.spec.settle_ms == Span::ZERO
        || mutation.probed_at >= until;
    (!settled).then_some(until)
}
