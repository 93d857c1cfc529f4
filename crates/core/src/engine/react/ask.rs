//! Asks the operator: a task is parked together with its question.

use std::sync::Arc;

use super::stand_still;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{BuildId, MutationId, QuestionId, RunId, TaskId};
use crate::engine::question::{ActionFacts, Question, Subject, Tried};
use crate::engine::run::{Next, Step};
use crate::engine::task::{Task, TaskState};
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::{Code, Fault, Work};
use crate::question::QuestionKind;

/// A request to park a task with a question.
pub(in crate::engine) struct Ask<'a> {
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
pub(super) fn ask_after(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>, why: Why) {
    let Some(place) = turn.state.run(run).map(|run| (run.task, run.place().resumed())) else {
        return;
    };
    let Some(kind) = QuestionKind::of(fault.code().row().asks) else { return };
    let (task, next) = place;
    let kept = stand_still(turn, run, fault);
    let subject = Subject::Error(fault.signature);
    ask(turn, Ask { task, run: kept, next, subject, kind, fault: Some(fault), why });
}

/// Returns the single attempt that met a fault which is asked about at once, because its tries are
/// not counted.
fn only_attempt(turn: &Turn<'_>, fault: &Fault) -> Option<Tried> {
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
pub(in crate::engine) fn ask(turn: &mut Turn<'_>, asked: Ask<'_>) {
    let Ask { task, run, next, subject, kind, fault, why } = asked;
    let question = match turn.state.question_about(subject).map(|question| question.id) {
        Some(question) => {
            turn.decide(Event::QuestionJoined { question, task }, why);
            question
        }
        None => open(turn, subject, kind, fault, vec![task], why),
    };
    let code = fault.map(|fault| fault.code());
    turn.emit(Event::TaskParked { task, question, run, next, code });
    if let Some(build) = turn.state.task(task).map(|task| task.build) {
        flow::pause_for_questions(turn, build);
    }
}

pub(super) fn open(
    turn: &mut Turn<'_>,
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
        attempts: attempts(turn, subject, fault.map(|fault| &**fault), &tasks),
        tasks,
        asked_at: turn.now,
        action: action_facts(turn, subject),
    };
    turn.decide(Event::QuestionAsked { question: Box::new(question) }, why);
    id
}

/// Returns the facts about the action that the question is about.
fn action_facts(turn: &Turn<'_>, subject: Subject) -> Option<Box<ActionFacts>> {
    let Subject::Action(id) = subject else { return None };
    turn.state.mutation(id).map(|mutation| Box::new(mutation.facts()))
}

/// Returns the attempts that failed with this error since its counter was last reset.
fn attempts(
    turn: &Turn<'_>,
    subject: Subject,
    fault: Option<&Fault>,
    tasks: &[TaskId],
) -> Vec<Tried> {
    let Subject::Error(signature) = subject else { return Vec::new() };
    let first = tasks.first().and_then(|task| turn.state.task(*task));
    if let Some(job) = first.filter(|task| task.work() == Work::Job) {
        return repairs(job);
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
fn repairs(job: &Task) -> Vec<Tried> {
    let all = &job.repairs.failed;
    let recent = all.len().saturating_sub(job.counters.repairs as usize);
    all[recent..].to_vec()
}

/// Parks the task of an action whose outcome cannot be determined, until the operator says whether
/// it happened.
pub(in crate::engine) fn ask_about_action(turn: &mut Turn<'_>, id: MutationId) {
    let Some(mutation) = turn.state.mutation(id) else { return };
    let Some(task) = turn.state.task(mutation.task) else { return };
    // A job whose script still runs is parked when the script ends; a parked task already waits.
    let TaskState::Reconciling { run } = task.state else { return };
    let (task, next) = (task.id, task.next);
    let run = turn.state.run(run).map(|run| run.id);
    let subject = Subject::Action(id);
    let why = Why::rule(Rule::CannotTell);
    let kind = QuestionKind::Happened;
    ask(turn, Ask { task, run, next, subject, kind, fault: None, why });
}

/// Asks the operator about a whole build, unless a question about it is open.
pub(in crate::engine) fn ask_about_build(
    turn: &mut Turn<'_>,
    build: BuildId,
    fault: Option<&Arc<Fault>>,
    why: Why,
) {
    let subject = Subject::Build(build);
    if turn.state.question_about(subject).is_none() {
        open(turn, subject, QuestionKind::Paused, fault, Vec::new(), why);
    }
}
