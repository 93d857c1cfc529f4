//! Handles transient failures of scheduled jobs. A job keeps its schedule: a firing that is still
//! trying when the next one is due gives up for it, and the operator is told when that has gone on
//! for long.

use std::sync::Arc;

use super::ask::open_question;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::TaskId;
use crate::engine::question::Subject;
use crate::engine::task::{Task, TaskState};
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::Fault;
use crate::question::QuestionKind;

/// Returns whether an unfinished firing only waits for a transient failure to pass.
pub(in crate::engine) fn is_only_waiting(turn: &Transition<'_>, task: &Task) -> bool {
    if !task.is_scheduled() {
        return false;
    }
    let backs_off =
        matches!(task.state, TaskState::BackingOff { until: Some(_), gate: None, run: None });
    backs_off || turn.state.is_parked_over_transient(task)
}

/// Ends the firing without success and starts the next one.
pub(in crate::engine) fn give_way_to_next_firing(turn: &mut Transition<'_>, id: TaskId) {
    let Some(task) = turn.state.task(id) else { return };
    let fault = task.failure.clone();
    let later = task.fire_later;
    let Some(fault) = fault else { return };
    let code = fault.code();
    let why = Why::with_code(Rule::NextFiringTries, code);
    flow::finish_task_because(turn, Event::JobMissed { task: id, code }, id, Some(why));
    ask_when_due(turn, id, &fault);
    if !later {
        turn.emit_event(Event::JobFired { task: id });
    }
}

/// Asks the operator about a job that has been failing for long. The job keeps trying all the same.
pub(super) fn ask_when_due(turn: &mut Transition<'_>, id: TaskId, fault: &Arc<Fault>) {
    let Some(task) = turn.state.task(id) else { return };
    let Some(failing) = task.failing else { return };
    let own = &task.spec.overrides;
    let general = &turn.policy.retry;
    let firings = own.alert_firings.unwrap_or(general.alert_firings);
    let span = own.alert_after_ms.unwrap_or(general.alert_after_ms);
    let subject = Subject::Job(id);
    let is_due = failing.firings >= firings || turn.now.since(failing.since) >= span;
    if is_due && turn.state.question_about(subject).is_none() {
        let why = Why::with_code(Rule::KeepsFailing, fault.code());
        open_question(turn, subject, QuestionKind::Passing, Some(fault), vec![id], why);
    }
}

/// Withdraws the question about a job, because it works again or is on hold.
pub(in crate::engine) fn withdraw_job_question(turn: &mut Transition<'_>, id: TaskId) {
    if let Some(question) = turn.state.question_about(Subject::Job(id)).map(|asked| asked.id) {
        turn.emit_event(Event::QuestionWithdrawn { question });
    }
}
