//! Handles `Recover`: the process was started, so all work that was in progress is gone.

use crate::engine::build::BuildState;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{MutationId, RunId, TaskId};
use crate::engine::ledger::{Mutation, MutationState};
use crate::engine::question::Subject;
use crate::engine::react::{Ask, ask};
use crate::engine::run::{Next, Run, Status};
use crate::engine::state::State;
use crate::engine::task::Task;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::Code;
use crate::question::QuestionKind;
use crate::signature::Signature;

/// Recovers all tasks, or only one. A process that takes up a single job leaves the other tasks to
/// the process that can continue them: marking them as crashed each time would count crashes that
/// did not happen.
pub(super) fn on(turn: &mut Turn<'_>, only: Option<TaskId>, clean: bool) {
    let gone = match only {
        None => Gone::everybodys(turn.state),
        Some(task) => Gone::of(turn.state, task),
    };
    // Calls and probes in progress are gone; a probe finds out whether they got through.
    for mutation in gone.sent {
        flow::probe(turn, mutation, None);
    }
    for run in gone.active {
        crashed(turn, run, clean);
    }
}

/// Work that was in progress.
struct Gone {
    sent: Vec<MutationId>,
    active: Vec<RunId>,
}

impl Gone {
    fn everybodys(state: &State) -> Self {
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
    fn of(state: &State, id: TaskId) -> Self {
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

fn crashed(turn: &mut Turn<'_>, id: RunId, clean: bool) {
    let Some((task, next)) = turn.state.run(id).map(|run| (run.task, run.place().resumed())) else {
        return;
    };
    let rule = if clean { Rule::TakenUpAgain } else { Rule::RecoveredAfterCrash };
    turn.decide(Event::RunCrashed { run: id, clean }, Why::rule(rule));
    let Some(build) = turn.state.task(task).map(|task| task.build) else { return };
    if flow::open_mutations(turn, task) > 0 {
        flow::reconcile(turn, task, id, None, next);
    } else if turn.build_state(build).is_some_and(BuildState::has_ended) {
        flow::cancel_task(turn, task);
    } else if !crashed_too_often(turn, task, next) {
        turn.decide(Event::TaskReady { task, run: None, next }, Why::rule(rule));
    }
}

fn crashed_too_often(turn: &mut Turn<'_>, id: TaskId, next: Next) -> bool {
    let crashes = turn.state.task(id).map_or(0, |task| task.counters.crashes);
    if crashes < turn.policy.retry.crashes {
        return false;
    }
    // The cause of the crash is unknown and need not be an internal error: no code is blamed.
    let subject = Subject::Error(Signature::of_parts(Code::InternalError, "crash", &["killed"]));
    let kind = QuestionKind::Passing;
    let why = Why::rule(Rule::CrashedTooOften);
    ask(turn, Ask { task: id, run: None, next, subject, kind, fault: None, why });
    true
}
