//! Asks the operator: a task is parked together with its question.

use std::sync::Arc;

use super::pause_or_end_run;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{BuildId, MutationId, QuestionId, RunId, TaskId};
use crate::engine::question::{ActionFacts, Question, Subject, Tried};
use crate::engine::run::{Next, Step};
use crate::engine::task::{Task, TaskState};
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Code, Fault, Work};
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

/// Pauses or ends the run over its fault and asks the operator about it.
pub(super) fn ask_about_fault(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>, why: Why) {
    let Some(place) = turn.state.run(run).map(|run| (run.task, run.position().to_resumed())) else {
        return;
    };
    let Some(kind) = QuestionKind::from_asks(fault.code().row().asks) else { return };
    let (task, next) = place;
    let kept = pause_or_end_run(turn, run, fault);
    let subject = Subject::Error(fault.signature);
    park_with_question(
        turn,
        ParkRequest { task, run: kept, next, subject, kind, fault: Some(fault), why },
    );
}

/// Returns the single attempt that met a fault which is asked about at once, because its tries are
/// not counted.
fn only_attempt(turn: &Transition<'_>, fault: &Fault) -> Option<Tried> {
    let met = turn.events().iter().rev().find_map(|recorded| match &recorded.event {
        Event::FaultMet { run, fault: met, approach, .. } if met.signature == fault.signature => {
            Some((*run, approach.clone()))
        }
        _ => None,
    });
    let (run, approach) = met?;
    // A question that the agent asks is not a failed attempt.
    if fault.code() == Code::PreconditionInput {
        return None;
    }
    let agent = matches!(turn.state.run(run).map(|run| run.step), Some(Step::Attempt { .. }));
    agent.then(|| Tried { approach: approach.unwrap_or_default(), code: fault.code() })
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
    if let Some(build) = turn.state.task(task).map(|task| task.build) {
        flow::pause_for_questions(turn, build);
    }
}

pub(super) fn open_question(
    turn: &mut Transition<'_>,
    subject: Subject,
    kind: QuestionKind,
    fault: Option<&Arc<Fault>>,
    tasks: Vec<TaskId>,
    why: Why,
) -> QuestionId {
    let id = QuestionId(u32::try_from(turn.state.question_ends.len()).unwrap_or(u32::MAX));
    let question = Question {
        id,
        subject,
        kind,
        fault: fault.cloned(),
        why: why.clone(),
        attempts: failed_attempts(turn, subject, fault.map(|fault| &**fault), &tasks),
        tasks,
        asked_at: turn.now,
        action: action_facts(turn, subject),
    };
    turn.emit_with_reason(Event::QuestionAsked { question: Box::new(question) }, why);
    id
}

/// Returns the facts about the action that the question is about.
fn action_facts(turn: &Transition<'_>, subject: Subject) -> Option<Box<ActionFacts>> {
    let Subject::Action(id) = subject else { return None };
    turn.state.mutation(id).map(|mutation| Box::new(mutation.facts()))
}

/// Returns the attempts that failed with this error since its counter was last reset.
fn failed_attempts(
    turn: &Transition<'_>,
    subject: Subject,
    fault: Option<&Fault>,
    tasks: &[TaskId],
) -> Vec<Tried> {
    let Subject::Error(signature) = subject else { return Vec::new() };
    let first = tasks.first().and_then(|task| turn.state.task(*task));
    if let Some(job) = first.filter(|task| task.work() == Work::Job) {
        return recent_repairs(job);
    }
    let Some(record) = turn.state.signatures().get(signature) else { return Vec::new() };
    if record.count == 0 {
        return fault.and_then(|fault| only_attempt(turn, fault)).into_iter().collect();
    }
    let recent = record.failed.len().saturating_sub(record.count as usize);
    record.failed.iter().skip(recent).map(|failed| failed.tried.clone()).collect()
}

/// Returns the repairs that failed since the operator last answered. They belong to the job and not
/// to one error, because a script breaks differently each time.
fn recent_repairs(job: &Task) -> Vec<Tried> {
    let all = &job.repairs.failed;
    let recent = all.len().saturating_sub(job.counters.repairs as usize);
    all[recent..].to_vec()
}

/// Parks the task of an action whose outcome cannot be determined, until the operator says whether
/// it happened.
pub(in crate::engine) fn ask_about_action(turn: &mut Transition<'_>, id: MutationId) {
    let Some(mutation) = turn.state.mutation(id) else { return };
    let Some(task) = turn.state.task(mutation.task) else { return };
    // A job whose script still runs is parked when the script ends; a parked task already waits.
    let TaskState::Reconciling { run } = task.state else { return };
    let (task, next) = (task.id, task.next);
    let run = turn.state.run(run).map(|run| run.id);
    let subject = Subject::Action(id);
    let why = Why::from_rule(Rule::CannotTell);
    let kind = QuestionKind::Happened;
    park_with_question(turn, ParkRequest { task, run, next, subject, kind, fault: None, why });
}

/// Asks the operator about a whole build, unless a question about it is open.
pub(in crate::engine) fn ask_about_build(
    turn: &mut Transition<'_>,
    build: BuildId,
    fault: Option<&Arc<Fault>>,
    why: Why,
) {
    let subject = Subject::Build(build);
    if turn.state.question_about(subject).is_none() {
        open_question(turn, subject, QuestionKind::Paused, fault, Vec::new(), why);
    }
}
