//! Handles `Recover`: the process was started, so all work that was in progress is gone.

use crate::engine::end::cancel_task;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{MutationId, RunId, TaskId};
use crate::engine::ledger::{Mutation, MutationState};
use crate::engine::question::Subject;
use crate::engine::react::{ParkRequest, park_with_question};
use crate::engine::run::{Next, Run, Status};
use crate::engine::state::State;
use crate::engine::task::Task;
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::Code;
use crate::question::QuestionKind;
use crate::signature::Signature;

/// Recovers all tasks, or only one. A process that takes up a single job leaves the other tasks to
/// the process that can continue them: marking them as crashed each time would count crashes that
/// did not happen.
pub(super) fn handle_recover(turn: &mut Transition<'_>, only: Option<TaskId>, clean: bool) {
    let gone = match only {
        None => InterruptedWork::from_all_tasks(turn.state),
        Some(task) => InterruptedWork::from_task(turn.state, task),
    };
    // Calls and probes in progress are gone; a probe finds out whether they got through.
    for mutation in gone.sent {
        flow::probe_action(turn, mutation, None);
    }
    for run in gone.active {
        recover_crashed_run(turn, run, clean);
    }
}

/// Work that was in progress.
struct InterruptedWork {
    sent: Vec<MutationId>,
    active: Vec<RunId>,
}

impl InterruptedWork {
    fn from_all_tasks(state: &State) -> Self {
        Self {
            sent: state
                .mutations()
                .filter(|known| was_sent(known) && !is_elsewhere(state, known.task))
                .map(|known| known.id)
                .collect(),
            active: state
                .runs()
                .filter(|run| was_active(run) && !is_elsewhere(state, run.task))
                .map(|run| run.id)
                .collect(),
        }
    }

    /// Returns the work of one task without a scan of all tasks, because thousands may recover one
    /// by one.
    fn from_task(state: &State, id: TaskId) -> Self {
        let task = state.task(id).filter(|task| !task.is_session());
        let sent = task.into_iter().flat_map(|task| &task.ledger);
        let sent = sent.filter_map(|id| state.mutation(*id)).filter(|known| was_sent(known));
        let run = task.and_then(|task| task.state.run()).and_then(|run| state.run(run));
        Self {
            sent: sent.map(|known| known.id).collect(),
            active: run.into_iter().filter(|run| was_active(run)).map(|run| run.id).collect(),
        }
    }
}

/// Returns whether an external runtime works on the task, which is not gone because this process
/// was.
fn is_elsewhere(state: &State, task: TaskId) -> bool {
    state.task(task).is_some_and(Task::is_session)
}

fn was_active(run: &Run) -> bool {
    run.status == Status::Active || run.owes.is_some()
}

const fn was_sent(mutation: &Mutation) -> bool {
    match mutation.state {
        MutationState::InFlight { .. } | MutationState::Probing { .. } => true,
        MutationState::Intended
        | MutationState::Settling { .. }
        | MutationState::Indeterminate
        | MutationState::Applied { .. }
        | MutationState::NotApplied
        | MutationState::Skipped => false,
    }
}

fn recover_crashed_run(turn: &mut Transition<'_>, id: RunId, clean: bool) {
    let Some((task, next)) = turn.known_run(id).map(|run| (run.task, run.position().to_resumed()))
    else {
        return;
    };
    let rule = if clean { Rule::TakenUpAgain } else { Rule::RecoveredAfterCrash };
    turn.emit_with_reason(Event::RunCrashed { run: id, clean }, Why::from_rule(rule));
    let Some(build) = turn.known_task(task).map(|task| task.build) else { return };
    if turn.state.has_open_action(task) {
        flow::reconcile_run(turn, task, id, None, next);
    } else if turn.has_build_ended(build) {
        cancel_task(turn, task);
    } else if !ask_if_crashed_too_often(turn, task, next) {
        turn.emit_with_reason(Event::TaskReady { task, run: None, next }, Why::from_rule(rule));
    }
}

fn ask_if_crashed_too_often(turn: &mut Transition<'_>, id: TaskId, next: Next) -> bool {
    let crashes = turn.known_task(id).map_or(0, |task| task.counters.crashes);
    if crashes < turn.policy.retry.crashes {
        return false;
    }
    // The cause of the crash is unknown and need not be an internal error: no code is blamed.
    let subject = Subject::Error(Signature::from_parts(Code::InternalError, "crash", &["killed"]));
    let kind = QuestionKind::Passing;
    let why = Why::from_rule(Rule::CrashedTooOften);
    park_with_question(
        turn,
        ParkRequest { task: id, run: None, next, subject, kind, fault: None, why },
    );
    true
}
