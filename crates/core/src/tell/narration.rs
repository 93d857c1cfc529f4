//! Narration of recorded events, one plain sentence at a time.

use super::narrate::{Narration, render_narration};
use crate::engine::{
    Build, Event, Guidance, Mutation, PauseCause, Reconciled, RecordedEvent, Rule, SkipReason,
    State, Step, Task, TaskId, TaskStateKind,
};
use crate::fault::{BudgetSpan, Charge, Code, Fault, Kind, Work};
use crate::plan::MutationKind;
use crate::policy::Policy;
use crate::question::Decision;

/// Returns the sentence for an event that has been applied to `state`, or `None` if people need not know of
/// it.
pub fn narrate_event(state: &State, policy: &Policy, recorded: &RecordedEvent) -> Option<String> {
    let work =
        event_task(&recorded.event).and_then(|id| state.task(id)).map_or(Work::Task, Task::work);
    Some(render_narration(&build_narration(state, policy, recorded)?, work))
}

fn build_narration<'a>(
    state: &'a State,
    policy: &Policy,
    recorded: &'a RecordedEvent,
) -> Option<Narration<'a>> {
    let now = recorded.at;
    let title = |id: TaskId| state.task(id).map_or("", |task| task.spec.display_name());
    let rule = recorded.why.as_ref().map(|why| why.rule);
    let code = recorded.why.as_ref().and_then(|why| why.code);
    Some(match &recorded.event {
        Event::RunStarted { task, retry_of: None, .. } => {
            Narration::Started { title: title(*task) }
        }
        Event::Retrying { task, attempt, code, .. } => {
            let known = state.task(*task)?;
            let limit = policy.limits_for(*code, &known.spec.overrides).per_signature;
            let (attempt, of) = known.setbacks.next_approach(*attempt, limit);
            Narration::Retrying { title: title(*task), attempt, of, code: *code }
        }
        Event::TaskReady { task, .. } => match rule? {
            Rule::RecoveredAfterCrash => Narration::CrashedAndResumed { title: title(*task) },
            Rule::TakenUpAgain => Narration::TakenUpAgain { title: title(*task) },
            Rule::ConversationShortened => Narration::Shortened { title: title(*task) },
            Rule::RepairScript | Rule::ProposeOnly => {
                let counts = &recorded.why.as_ref()?.counts;
                let repair = counts.iter().find(|count| count.counter == Charge::Repair)?;
                let attempt = repair.at;
                let of = repair.limit;
                Narration::Repairing { title: title(*task), attempt, of, code: code? }
            }
            _ => return None,
        },
        Event::TaskBackingOff { task, until: Some(until), .. } => {
            let title = title(*task);
            let code = code?;
            let wait = until.since(now);
            let fault = state.task(*task).and_then(|task| task.failure.as_deref());
            let fault = fault.filter(|fault| fault.code() == code);
            Narration::BackingOff { title, code, wait, fault }
        }
        Event::GateWaiting { until, code, .. } => {
            Narration::Waiting { code: *code, resumes_in: Some(until.since(now)) }
        }
        Event::GatePassing { release_at: Some(_), .. } => Narration::GateOpen,
        Event::TaskParked { task, question, .. } => {
            let question = state.question(*question)?;
            if question.tasks.first() != Some(task) {
                return None;
            }
            let dependants = u32::try_from(state.task(*task)?.dependants.len()).unwrap_or(u32::MAX);
            Narration::Parked { title: title(*task), code: question.code(), dependants }
        }
        Event::QuestionJoined { task, .. } => Narration::Joined { title: title(*task) },
        Event::TaskUnparked { task, guidance: Some(guidance), next, .. } => {
            answered_narration(title(*task), guidance, next.step)
        }
        Event::TaskDone { task, unchanged } => {
            let attempts = state.task(*task)?.attempts;
            match unchanged {
                Some(_) => Narration::Unchanged { title: title(*task) },
                None => Narration::Done { title: title(*task), attempts },
            }
        }
        Event::Remarked { text, .. } => Narration::Noted { words: text },
        Event::BaseChecked { red, .. } => Narration::RedBase { red: red.first()? },
        Event::Nudged { run } => Narration::Nudged { title: title(state.run(*run)?.task) },
        Event::TaskSkipped { task, left } => match left {
            SkipReason::Needs { task: needed } => {
                Narration::Skipped { title: title(*task), needs: title(*needed) }
            }
            SkipReason::Decided | SkipReason::Denied => Narration::LeftOut { title: title(*task) },
        },
        Event::TaskFailed { task, code } => Narration::Failed { title: title(*task), code: *code },
        Event::TaskCancelled { task } => Narration::Cancelled { title: title(*task) },
        Event::TaskReconciling { task, .. } if rule == Some(Rule::ProbeFirst) => {
            // The outcome of a push is reported once it is known.
            if state.task(*task).and_then(|task| open_action(state, task))
                == Some(MutationKind::Push)
            {
                return None;
            }
            Narration::Reconciling { title: title(*task) }
        }
        Event::MutationReconciled { mutation, to, .. } if rule == Some(Rule::ProbeFirst) => {
            return reconciled_narration(state, policy, state.mutation(*mutation)?, *to);
        }
        Event::FaultMet { fault, task, .. } => taken_back_narration(fault, title(*task))?,
        Event::Warned { task, code: Code::GitPushFailed, .. } => {
            let failure = state.task(*task).and_then(|task| task.failure.as_ref());
            let output = failure.map(|fault| fault.message.as_str());
            Narration::NotSent { title: title(*task), output }
        }
        Event::BuildPaused { cause, open_questions, .. } => match cause {
            PauseCause::Person => Narration::PausedByPerson,
            PauseCause::Questions => Narration::BuildPaused { open: *open_questions },
            PauseCause::Budget => Narration::BudgetSpent { span: BudgetSpan::Build },
        },
        Event::Sleeping { until, .. } => Narration::Sleeping { wakes_in: until.since(now) },
        Event::Waking { .. } => Narration::Waking,
        Event::BuildCompleted { build } => build_done_narration(state.build(*build)?),
        _ => return None,
    })
}

fn answered_narration<'a>(title: &'a str, guidance: &'a Guidance, next: Step) -> Narration<'a> {
    if guidance.decision == Decision::Deny && !matches!(next, Step::TakeBack) {
        return Narration::WithoutAction { title };
    }
    let decision = guidance.decision;
    let words = guidance.text.as_deref();
    Narration::Answered { title, decision, words, tasks: 1 }
}

fn build_done_narration(build: &Build) -> Narration<'static> {
    Narration::BuildDone {
        done: build.count(TaskStateKind::Done),
        left_out: build.count(TaskStateKind::Skipped) + build.count(TaskStateKind::Failed),
        waiting: build.count(TaskStateKind::Parked),
    }
}

fn taken_back_narration<'a>(fault: &Fault, title: &'a str) -> Option<Narration<'a>> {
    let (Kind::ScopeForbidden(context) | Kind::ScopeOutsideAllowed(context)) = &fault.kind else {
        return None;
    };
    let files = u32::try_from(context.files.len()).unwrap_or(u32::MAX);
    Some(if fault.is_check_file_change() {
        Narration::CheckFilesTakenBack { title, files }
    } else {
        Narration::TakenBack { title, files }
    })
}

/// Returns the sentence for an action whose outcome was unknown.
fn reconciled_narration<'a>(
    state: &'a State,
    policy: &Policy,
    mutation: &Mutation,
    to: Reconciled,
) -> Option<Narration<'a>> {
    let task = state.task(mutation.task)?;
    let title = task.spec.display_name();
    let happened = to == Reconciled::Applied;
    match (mutation.spec.kind, happened) {
        (MutationKind::Push, true) => Some(Narration::PushArrived { title }),
        // The retry is reported once; the last failure is reported as a warning.
        (MutationKind::Push, false) => {
            let first = task.counters.git == 1 && policy.retry.git > 0;
            first.then_some(Narration::PushedAgain { title })
        }
        _ => Some(Narration::Reconciled { title, happened }),
    }
}

/// Returns the kind of the task's action that may have happened.
fn open_action(state: &State, task: &Task) -> Option<MutationKind> {
    let mutations = task.ledger.iter().filter_map(|id| state.mutation(*id));
    let mut open = mutations.filter(|mutation| mutation.state.is_open());
    open.next().map(|mutation| mutation.spec.kind)
}

/// Returns the task that an event is about, if any.
const fn event_task(event: &Event) -> Option<TaskId> {
    match event {
        Event::RunStarted { task, .. }
        | Event::Retrying { task, .. }
        | Event::TaskReady { task, .. }
        | Event::TaskBackingOff { task, .. }
        | Event::TaskParked { task, .. }
        | Event::QuestionJoined { task, .. }
        | Event::TaskUnparked { task, .. }
        | Event::TaskDone { task, .. }
        | Event::TaskSkipped { task, .. }
        | Event::TaskFailed { task, .. }
        | Event::TaskCancelled { task }
        | Event::TaskReconciling { task, .. }
        | Event::FaultMet { task, .. }
        | Event::Warned { task, .. } => Some(*task),
        _ => None,
    }
}
