//! The replanning context: the head of an agent's next prompt, or the result of the action that failed.

use std::borrow::Cow;

use super::replan::{
    ReplanFailure, ReplanGuidance, ReplanInput, ReplanTree, TriedApproach, render_replan,
};
use crate::engine::{Guidance as Said, RunId, Start, State, Step, Task, Tried};
use crate::fault::{Class, Code, Fault, Kind, Work};
use crate::policy::Policy;
use crate::question::Decision;

/// Returns the replanning context of a run, or `None` if no failure calls for another approach and no person
/// answered. A transient failure is no reason to leave an approach that worked.
pub fn replan_context(state: &State, policy: &Policy, run: RunId) -> Option<String> {
    let run = state.run(run)?;
    let task = state.task(run.task)?;
    let about =
        ReplanSubject { state, policy, task, step: Some(run.step), saved: saved_work_ref(task) };
    if task.work() == Work::Job {
        let failure = repair_fault(task)?;
        if failure.class() == Class::EnvError && task.guidance.is_none() {
            return None;
        }
        return Some(about.render_repair(failure));
    }
    let setbacks = &task.setbacks;
    match (setbacks.answered.as_deref(), setbacks.latest.as_deref()) {
        (Some(asked), _) if is_fixed_by_person(task, asked) => None,
        (Some(asked), _) if task.guidance.is_some() => {
            Some(about.render_attempt(Some(asked), true))
        }
        (_, Some(latest)) => Some(about.render_attempt(Some(latest), false)),
        (_, None) if setbacks.before.is_empty() => None,
        (_, None) => Some(about.render_attempt(None, false)),
    }
}

/// Returns whether a person fixed what kept the work from beginning; the agent does not need to know of it.
fn is_fixed_by_person(task: &Task, asked: &Fault) -> bool {
    let fixed = |said: &Said| said.decision == Decision::ProvideCredentials && said.text.is_none();
    asked.is_before_work() && task.guidance.as_deref().is_some_and(fixed)
}

/// Returns the same context inside a run that continues, as the result of the action that failed: the tree is
/// unchanged.
pub fn failure_result(state: &State, policy: &Policy, run: RunId) -> Option<String> {
    let task = state.task(state.run(run)?.task)?;
    let about = ReplanSubject { state, policy, task, step: None, saved: None };
    if task.work() == Work::Job {
        let failure = repair_fault(task).filter(|failure| failure.class() != Class::EnvError)?;
        return Some(about.render_repair(failure));
    }
    let failure = task.failure.as_deref().filter(|failure| failure.class() != Class::EnvError)?;
    Some(about.render_attempt(Some(failure), false))
}

/// The task and step that a text is written for.
struct ReplanSubject<'a> {
    state: &'a State,
    policy: &'a Policy,
    task: &'a Task,
    /// The step that begins; `None` inside one that continues.
    step: Option<Step>,
    /// The ref that keeps earlier work.
    saved: Option<String>,
}

impl ReplanSubject<'_> {
    /// Returns the text for an agent that works on a task.
    fn render_attempt(&self, failure: Option<&Fault>, answered: bool) -> String {
        let Self { state, policy, task, .. } = self;
        let setbacks = &task.setbacks;
        let (attempt, at_error) = failure.map_or((1, 1), |failure| {
            setbacks.next_approach(state.signatures().count(failure.signature))
        });
        let limits = failure.map(|failure| policy.limits_for(failure.code(), &task.spec.overrides));
        let of = limits.map_or(0, |limits| limits.per_signature);
        let first = setbacks.failed.saturating_sub(saturating_u32(setbacks.tried.len())) + 1;
        let approaches = number_approaches(first, setbacks.tried.iter());
        let earlier = number_approaches(1, self.earlier_approaches(failure).into_iter());
        let red = setbacks.red.as_deref().filter(|red| Some(*red) != failure);
        let (message, red_message) = (
            failure.map(failure_message).unwrap_or_default(),
            red.map(failure_message).unwrap_or_default(),
        );
        render_replan(&ReplanInput {
            work: Work::Task,
            guidance: replan_guidance(task),
            answered,
            failed: attempt.saturating_sub(1),
            attempt,
            at_error,
            of,
            goal: &task.spec.goal,
            approaches: &approaches,
            earlier: &earlier,
            broke: None,
            failure: failure.map(|failure| replan_failure(failure, &message)),
            red: red.map(|red| replan_failure(red, &red_message)),
            tree: self.tree_state(failure),
        })
    }

    /// Returns the failed approaches that no longer count: before an answer, in an earlier build, or with the
    /// same error in another task.
    fn earlier_approaches(&self, failure: Option<&Fault>) -> Vec<&Tried> {
        let setbacks = &self.task.setbacks;
        let record = failure.and_then(|failure| self.state.signatures().get(failure.signature));
        let elsewhere = record.into_iter().flat_map(|record| &record.failed);
        let mut earlier: Vec<&Tried> = setbacks.before.iter().collect();
        // A question of the agent is not a failed approach.
        let failed = |tried: &&Tried| tried.code != Code::PreconditionInput;
        for tried in elsewhere.map(|known| &known.tried).filter(failed) {
            let same = |known: &Tried| known.approach == tried.approach;
            if !setbacks.tried.iter().any(same) && !earlier.iter().any(|known| same(known)) {
                earlier.push(tried);
            }
        }
        earlier
    }

    /// Returns whether the agent asked its question before it had changed anything.
    fn asked_before_a_change(&self, asked: &Fault) -> bool {
        let record = self.state.signatures().get(asked.signature);
        let last = record.and_then(|record| record.failed.last());
        asked.code() == Code::PreconditionInput
            && last.is_some_and(|known| known.tried.approach.files_changed == 0)
    }

    /// Returns the text for an agent that repairs a job's script.
    fn render_repair(&self, failure: &Fault) -> String {
        let Self { policy, task, .. } = self;
        let approaches = number_approaches(1, task.repairs.failed.iter());
        let broke = task.repairs.broke.as_deref().filter(|broke| *broke != failure);
        let message = failure_message(failure);
        let broke_message = broke.map(failure_message).unwrap_or_default();
        render_replan(&ReplanInput {
            work: Work::Job,
            guidance: replan_guidance(task),
            answered: task.guidance.is_some() && task.setbacks.answered.is_some(),
            failed: saturating_u32(approaches.len()).max(1),
            attempt: task.counters.repairs.max(1),
            at_error: task.counters.repairs.max(1),
            of: policy.limits_for(failure.code(), &task.spec.overrides).repairs,
            goal: &task.spec.goal,
            approaches: &approaches,
            earlier: &[],
            broke: broke.map(|broke| replan_failure(broke, &broke_message)),
            failure: Some(replan_failure(failure, &message)),
            red: None,
            tree: self.tree_state(Some(failure)),
        })
    }

    /// Returns the state of the working tree that the agent finds.
    fn tree_state<'b>(&'b self, failure: Option<&'b Fault>) -> ReplanTree<'b> {
        let taken_back = failure.and_then(|failure| match &failure.kind {
            Kind::ScopeForbidden(files) | Kind::ScopeOutsideAllowed(files) => {
                Some(files.patch.as_deref())
            }
            _ => None,
        });
        match (self.step, taken_back) {
            _ if self.task.is_session() => ReplanTree::Elsewhere,
            (Some(Step::Attempt { start: Start::FromBase | Start::NewWorktree }), _) => {
                ReplanTree::Reset { patch: self.saved.as_deref() }
            }
            (Some(Step::Attempt { start: Start::Fresh }), _) => ReplanTree::Base,
            (Some(Step::Repair { .. }), patch) => ReplanTree::CheckedOut { patch: patch.flatten() },
            (Some(_), Some(patch)) => ReplanTree::TakenBack {
                patch,
                for_good: !failure.is_some_and(Fault::is_check_file_change),
            },
            (Some(_), None) if failure.is_some_and(|asked| self.asked_before_a_change(asked)) => {
                ReplanTree::Base
            }
            (Some(step), None) => ReplanTree::Kept { changed: self.left_changes(step) },
            (None, _) => ReplanTree::Kept { changed: None },
        }
    }

    /// Returns whether the last attempt left changes behind, if known: an attempt that was cut off since then
    /// may have added some.
    fn left_changes(&self, step: Step) -> Option<bool> {
        let setbacks = &self.task.setbacks;
        let last = setbacks.tried.last().or(setbacks.before.last())?;
        let changed = last.approach.files_changed > 0;
        let right_after = matches!(step, Step::Attempt { start: Start::KeepTree });
        (changed || right_after).then_some(changed)
    }
}

/// Returns the fault that a repair is about: the failure of the script, whatever else interrupted the repair.
fn repair_fault(task: &Task) -> Option<&Fault> {
    let failure = task.failure.as_deref()?;
    let broke = task.repairs.broke.as_deref();
    match failure.class() {
        Class::CodeError => Some(failure),
        Class::EnvError | Class::NeverRetry => broke.or(Some(failure)),
    }
}

fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn number_approaches<'a>(
    first: u32,
    tried: impl Iterator<Item = &'a Tried>,
) -> Vec<TriedApproach<'a>> {
    (first..)
        .zip(tried)
        .map(|(number, Tried { approach, code })| TriedApproach { number, approach, code: *code })
        .collect()
}

fn replan_failure<'a>(fault: &'a Fault, message: &'a str) -> ReplanFailure<'a> {
    ReplanFailure { code: fault.code(), source: &fault.source, message }
}

fn replan_guidance(task: &Task) -> Option<ReplanGuidance<'_>> {
    let guidance = task.guidance.as_ref()?;
    let words = guidance.text.as_deref().unwrap_or_default();
    Some(ReplanGuidance { decision: guidance.decision, words })
}

/// Returns the message of a fault; for a red check, with its output.
fn failure_message(failure: &Fault) -> Cow<'_, str> {
    let message = failure.message.as_str();
    match &failure.kind {
        Kind::ValidationPreCommit(check)
        | Kind::ValidationPrePush(check)
        | Kind::ValidationPrePr(check)
            if !check.output.is_empty() =>
        {
            Cow::Owned(format!("{message}\n{}", check.output))
        }
        _ => Cow::Borrowed(message),
    }
}

/// Returns the ref that keeps the work of the run that failed last, if that run changed anything.
fn saved_work_ref(task: &Task) -> Option<String> {
    let setbacks = &task.setbacks;
    let last = setbacks.tried.last().or(setbacks.before.last())?;
    let run = setbacks.run.filter(|_| last.approach.files_changed > 0)?;
    Some(run.saved_ref())
}
