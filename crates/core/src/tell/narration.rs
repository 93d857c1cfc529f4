//! Narration: the sentences for a person who watches, with the facts of the engine's state.

use super::event::{EventFacts, describe_event};
use super::tally::BuildTally;
use crate::engine::{
    Event, MutationId, Reconciled, RecordedEvent, Rule, SkipReason, State, Subject, Task, TaskId,
};
use crate::fault::{Code, Kind};
use crate::plan::MutationKind;

/// Returns the sentence for an event that has been applied to `state`, or `None` if a person who watches need
/// not know of it.
pub fn narrate_event(state: &State, recorded: &RecordedEvent) -> Option<String> {
    is_narrated(state, recorded).then(|| describe_event(recorded, &find_facts(state, recorded)))
}

/// Returns whether a person who watches is told of an event.
fn is_narrated(state: &State, recorded: &RecordedEvent) -> bool {
    let rule = recorded.why.as_ref().map(|why| why.rule);
    match &recorded.event {
        Event::RunStarted { retry_of, .. } => retry_of.is_none(),
        Event::TaskReady { .. } => matches!(
            rule,
            Some(
                Rule::RecoveredAfterCrash
                    | Rule::TakenUpAgain
                    | Rule::ConversationShortened
                    | Rule::RepairScript
                    | Rule::ProposeOnly
            )
        ),
        Event::TaskBackingOff { until, .. } => until.is_some(),
        Event::GatePassing { release_at, .. } => release_at.is_some(),
        // The pause of a build is told by its own event.
        Event::QuestionAsked { question } => !matches!(question.subject, Subject::Build(_)),
        Event::BaseChecked { red, .. } => !red.is_empty(),
        Event::TaskUnparked { guidance, .. } => guidance.is_some(),
        Event::TaskReconciling { task, .. } => {
            // The outcome of a push is told once it is known.
            let open = state.task(*task).and_then(|task| open_action(state, task));
            rule == Some(Rule::ProbeFirst) && open != Some(MutationKind::Push)
        }
        Event::MutationReconciled { mutation, to, .. } => {
            rule == Some(Rule::ProbeFirst) && !is_repeated_push(state, *mutation, *to)
        }
        Event::FaultMet { fault, .. } => {
            matches!(fault.kind, Kind::ScopeForbidden(_) | Kind::ScopeOutsideAllowed(_))
        }
        Event::Warned { code, .. } => *code == Code::GitPushFailed,
        Event::BuildPaused { .. }
        | Event::BuildCompleted { .. }
        | Event::Sleeping { .. }
        | Event::Waking { .. }
        | Event::JobMissed { .. }
        | Event::JobHeld { .. }
        | Event::JobReleased { .. }
        | Event::GateWaiting { .. }
        | Event::Retrying { .. }
        | Event::QuestionJoined { .. }
        | Event::Nudged { .. }
        | Event::Remarked { .. }
        | Event::TaskDone { .. }
        | Event::TaskSkipped { .. }
        | Event::TaskFailed { .. }
        | Event::TaskCancelled { .. } => true,
        _ => false,
    }
}

/// Returns the facts that the sentence for an event needs.
fn find_facts<'a>(state: &'a State, recorded: &RecordedEvent) -> EventFacts<'a> {
    let action = match &recorded.event {
        Event::MutationReconciled { mutation, .. } => state.mutation(*mutation),
        _ => None,
    };
    let ids = recorded.event.subject_ids();
    let of_run = || ids.run.and_then(|run| state.run(run)).map(|run| run.task);
    let id = ids.task.or_else(of_run).or_else(|| action.map(|action| action.task));
    let task = id.and_then(|id| state.task(id));
    let needs = match &recorded.event {
        Event::TaskSkipped { left: SkipReason::Needs { task }, .. } => task_title(state, *task),
        _ => "",
    };
    let build = match &recorded.event {
        Event::BuildCompleted { build } => state.build(*build),
        _ => None,
    };
    EventFacts {
        attempts: task.map_or(0, |task| task.attempts),
        failure: task.and_then(|task| task.failure.as_deref()),
        needs,
        action: action.map(|action| action.spec.kind),
        tally: build.map(BuildTally::from_build),
        ..task.map_or_else(EventFacts::default, |task| EventFacts::from_spec(&task.spec))
    }
}

fn task_title(state: &State, id: TaskId) -> &str {
    state.task(id).map_or("", |task| task.spec.display_name())
}

/// Returns whether a push did not arrive once more; the last failure is told as a warning.
fn is_repeated_push(state: &State, id: MutationId, to: Reconciled) -> bool {
    let Some(action) = state.mutation(id) else { return true };
    let again = state.task(action.task).is_some_and(|task| task.counters.git != 1);
    action.spec.kind == MutationKind::Push && to != Reconciled::Applied && again
}

/// Returns the kind of the task's action that may have happened.
fn open_action(state: &State, task: &Task) -> Option<MutationKind> {
    let mutations = task.ledger.iter().filter_map(|id| state.mutation(*id));
    let mut open = mutations.filter(|mutation| mutation.state.is_open());
    open.next().map(|mutation| mutation.spec.kind)
}
