//! Parks a task together with its question.

use std::sync::Arc;

use crate::engine::ask::open_question;
use crate::engine::end::pause_for_questions;
use crate::engine::event::Event;
use crate::engine::ids::{MutationId, RunId, TaskId};
use crate::engine::question::Subject;
use crate::engine::run::{Next, Status};
use crate::engine::task::TaskState;
use crate::engine::transition::{Transition, internal_fault};
use crate::engine::why::{Rule, Why};
use crate::fault::Fault;
use crate::question::QuestionKind;

/// A request to park a task with a question.
pub(in crate::engine) struct ParkRequest<'a> {
    pub(in crate::engine) task: TaskId,
    /// The paused run that continues after the answer.
    pub(in crate::engine) run: Option<RunId>,
    pub(in crate::engine) next: Next,
    pub(in crate::engine) subject: Subject,
    pub(in crate::engine) kind: QuestionKind,
    pub(in crate::engine) fault: Option<&'a Arc<Fault>>,
    pub(in crate::engine) why: Why,
}

/// Parks a task with a question: a new one, or the open one on the same subject.
pub(in crate::engine) fn park_with_question(turn: &mut Transition<'_>, asked: ParkRequest<'_>) {
    let ParkRequest { task, run, next, subject, kind, fault, why } = asked;
    let question = match turn.state.question_about(subject).map(|question| question.id) {
        Some(question) => {
            turn.emit_with_reason(Event::QuestionJoined { question, task }, why);
            question
        }
        None => open_question(turn, subject, kind, fault, vec![task], why),
    };
    let code = fault.map(|fault| fault.code());
    turn.emit_event(Event::TaskParked { task, question, run, next, code });
    if let Some(build) = turn.known_task(task).map(|task| task.build) {
        pause_for_questions(turn, build);
    }
}

/// Pauses or ends the run over its fault and asks the operator about it.
pub(super) fn ask_about_fault(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>, why: Why) {
    let Some((task, next)) = turn.known_run(run).map(|run| (run.task, run.position().to_resumed()))
    else {
        return;
    };
    let Some(kind) = QuestionKind::from_asks(fault.asks()) else {
        // Without a question its task would never go on.
        let fault = internal_fault("a fault without a question was to be asked about");
        return ask_about_fault(turn, run, &fault, why);
    };
    let run = pause_or_end_run(turn, run, fault);
    let subject = Subject::Error(fault.signature);
    park_with_question(
        turn,
        ParkRequest { task, run, next, subject, kind, fault: Some(fault), why },
    );
}

/// Ends or pauses the run, as its fault's type says. Returns the run if it is paused, because it
/// continues after the answer.
fn pause_or_end_run(turn: &mut Transition<'_>, run: RunId, fault: &Fault) -> Option<RunId> {
    let status = Status::from(fault.error_type().run_status());
    if status == Status::PausedApproval {
        let step = turn.known_run(run)?.position().to_resumed().step;
        turn.pause_run(run, status, step, Some(fault.code()));
        Some(run)
    } else {
        turn.end_run(run, status, fault.code());
        None
    }
}

/// Parks the task of an action whose outcome cannot be determined, until the operator says whether
/// it happened.
pub(in crate::engine) fn ask_about_action(turn: &mut Transition<'_>, id: MutationId) {
    let Some(mutation) = turn.known_mutation(id) else { return };
    let Some(task) = turn.known_task(mutation.task) else { return };
    // A job whose script still runs is parked when the script ends; a parked task already waits.
    let TaskState::Reconciling { run } = task.state else { return };
    let (task, next) = (task.id, task.next);
    let run = turn.state.run(run).map(|run| run.id);
    let subject = Subject::Action(id);
    let why = Why::from_rule(Rule::CannotTell);
    let kind = QuestionKind::Happened;
    park_with_question(turn, ParkRequest { task, run, next, subject, kind, fault: None, why });
}
