//! Asks the operator and withdraws questions whose answers are no longer needed. Parking a task
//! with its question is a reaction to a fault.

use std::sync::Arc;

use super::event::Event;
use super::ids::{BuildId, QuestionId, TaskId};
use super::question::{ActionFacts, Question, Subject, Tried};
use super::run::Step;
use super::task::Task;
use super::transition::Transition;
use super::why::Why;
use crate::fault::{Class, Code, Fault, Work};
use crate::question::QuestionKind;

/// Opens a question about a subject that no open question is about.
pub(super) fn open_question(
    turn: &mut Transition<'_>,
    subject: Subject,
    kind: QuestionKind,
    fault: Option<&Arc<Fault>>,
    tasks: Vec<TaskId>,
    why: Why,
) -> QuestionId {
    debug_assert!(turn.state.question_about(subject).is_none(), "one question per subject");
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

/// Asks the operator about a whole build, unless a question about it is open.
pub(super) fn ask_about_build(
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

/// Returns the facts about the action that the question is about.
fn action_facts(turn: &Transition<'_>, subject: Subject) -> Option<Box<ActionFacts>> {
    let Subject::Action(id) = subject else { return None };
    turn.known_mutation(id).map(|mutation| Box::new(mutation.facts()))
}

/// Returns the attempts that failed with this error since its counter was last reset.
fn failed_attempts(
    turn: &Transition<'_>,
    subject: Subject,
    fault: Option<&Fault>,
    tasks: &[TaskId],
) -> Vec<Tried> {
    let Subject::Error(signature) = subject else { return Vec::new() };
    let first = tasks.first().and_then(|task| turn.known_task(*task));
    if let Some(job) = first.filter(|task| task.work() == Work::Job) {
        return recent_repairs(job);
    }
    let Some(record) = turn.state.signatures().get(signature) else { return Vec::new() };
    let at_this_error = if record.count == 0 {
        fault.and_then(|fault| only_attempt(turn, fault)).into_iter().collect()
    } else {
        let recent = record.failed.len().saturating_sub(record.count as usize);
        record.failed.iter().skip(recent).map(|failed| failed.tried.clone()).collect()
    };
    let is_about_work = fault.is_some_and(|fault| {
        fault.class() == Class::CodeError || fault.code() == Code::PreconditionInput
    });
    match first.filter(|_| is_about_work) {
        Some(task) => with_other_approaches(at_this_error, &task.setbacks.tried),
        None => at_this_error,
    }
}

/// Returns all approaches of a task, also those that failed with another error. Approaches of other tasks that
/// met this error come first.
fn with_other_approaches(at_this_error: Vec<Tried>, of_task: &[Tried]) -> Vec<Tried> {
    let is_known = |tried: &Tried| {
        let digest = tried.approach.digest;
        of_task
            .iter()
            .any(|known| known == tried || digest.is_some() && known.approach.digest == digest)
    };
    let mut all: Vec<Tried> = at_this_error.into_iter().filter(|tried| !is_known(tried)).collect();
    all.extend_from_slice(of_task);
    all
}

/// Returns the repairs that failed since the operator last answered. They belong to the job and not
/// to one error, because a script breaks differently each time.
fn recent_repairs(job: &Task) -> Vec<Tried> {
    let all = &job.repairs.failed;
    let recent = all.len().saturating_sub(job.counters.repairs as usize);
    all[recent..].to_vec()
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
    // A question that the agent asks is not a failed attempt, and nothing was tried before it began.
    if fault.code() == Code::PreconditionInput || fault.is_before_work() {
        return None;
    }
    let agent = matches!(turn.state.run(run).map(|run| run.step), Some(Step::Attempt { .. }));
    agent.then(|| Tried { approach: approach.unwrap_or_default(), code: fault.code() })
}

/// Withdraws the question about a job, because it works again or is on hold.
pub(super) fn withdraw_job_question(turn: &mut Transition<'_>, id: TaskId) {
    withdraw_question_about(turn, Subject::Job(id));
}

/// Withdraws the question about the pause, because no decision about it is needed any more.
pub(super) fn withdraw_pause_question(turn: &mut Transition<'_>, id: BuildId) {
    withdraw_question_about(turn, Subject::Build(id));
}

fn withdraw_question_about(turn: &mut Transition<'_>, subject: Subject) {
    if let Some(question) = turn.state.question_about(subject).map(|asked| asked.id) {
        turn.emit_event(Event::QuestionWithdrawn { question });
    }
}

/// Withdraws a question that parks no task any more, unless it is about a build or a job.
pub(super) fn withdraw_if_idle(turn: &mut Transition<'_>, question: QuestionId) {
    let idle = turn.state.question(question).is_some_and(|question| {
        question.tasks.is_empty()
            && !matches!(question.subject, Subject::Build(_) | Subject::Job(_))
    });
    if idle {
        turn.emit_event(Event::QuestionWithdrawn { question });
    }
}
