//! The process was started: whatever was running is gone.

use std::sync::Arc;

use crate::engine::build::BuildState;
use crate::engine::decide::Turn;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{MutationId, RunId, TaskId};
use crate::engine::ledger::MutationState;
use crate::engine::question::Subject;
use crate::engine::react::{Ask, ask};
use crate::engine::run::{Next, Status};
use crate::engine::task::Standing;
use crate::engine::why::{Rule, Why};
use crate::fault::{Fault, Internal};
use crate::question::QuestionKind;

/// A process that takes up one job only leaves everything else to whoever can go on with it: to
/// mark it as crashed each time would count crashes nobody had.
pub(super) fn on(turn: &mut Turn<'_>, only: Option<TaskId>) {
    let concerns = |task: TaskId| only.is_none_or(|only| only == task);
    // Calls and look-ups that were under way are gone; whether they got through is looked up.
    let sent: Vec<MutationId> = turn
        .state
        .mutations()
        .filter(|known| was_sent(&known.state) && concerns(known.task))
        .map(|known| known.id)
        .collect();
    for mutation in sent {
        flow::probe(turn, mutation);
    }
    let active: Vec<RunId> = turn
        .state
        .runs()
        .filter(|run| run.status == Status::Active || run.owes.is_some())
        .filter(|run| concerns(run.task))
        .map(|run| run.id)
        .collect();
    for run in active {
        crashed(turn, run);
    }
    let unsettled: Vec<TaskId> = turn
        .state
        .tasks()
        .filter(|task| task.state.standing() == Standing::Reconciling && concerns(task.id))
        .map(|task| task.id)
        .collect();
    for task in unsettled {
        flow::reconcile_rest(turn, task);
    }
}

const fn was_sent(state: &MutationState) -> bool {
    match state {
        MutationState::InFlight { .. } | MutationState::Probing { .. } => true,
        MutationState::Intended
        | MutationState::Settling { .. }
        | MutationState::Indeterminate
        | MutationState::Applied { .. }
        | MutationState::NotApplied
        | MutationState::Skipped => false,
    }
}

fn crashed(turn: &mut Turn<'_>, id: RunId) {
    let Some((task, next)) = turn.state.run(id).map(|run| (run.task, run.place().resumed())) else {
        return;
    };
    turn.decide(Event::RunCrashed { run: id }, Why::rule(Rule::RecoveredAfterCrash));
    let Some(build) = turn.state.task(task).map(|task| task.build) else { return };
    if flow::open_mutations(turn, task) > 0 {
        flow::reconcile(turn, task, id, None, next);
    } else if turn.build_state(build).is_some_and(BuildState::has_ended) {
        flow::cancel_task(turn, task);
    } else if !crashed_too_often(turn, task, next) {
        let why = Why::rule(Rule::RecoveredAfterCrash);
        turn.decide(Event::TaskReady { task, run: None, next }, why);
    }
}

fn crashed_too_often(turn: &mut Turn<'_>, id: TaskId, next: Next) -> bool {
    let crashes = turn.state.task(id).map_or(0, |task| task.counters.crashes);
    if crashes < turn.policy.retry.crashes {
        return false;
    }
    let context = Internal { component: "run".to_owned() };
    let message = format!("the run ended without a word {crashes} times in a row");
    let fault = Arc::new(Fault::internal_error("crash", message, context));
    let why = Why::code(Rule::CrashedTooOften, fault.code());
    let subject = Subject::Error(fault.signature);
    let kind = QuestionKind::Ours;
    ask(turn, Ask { task: id, run: None, next, subject, kind, fault: Some(&fault), why });
    true
}
