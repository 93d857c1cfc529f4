//! What an agent reads at the head of its next prompt, or as the result of what failed.

use std::borrow::Cow;

use super::replan::{Guidance, Replan, ReplanFailure, Tree, TriedApproach, replan};
use crate::engine::{RunId, Start, State, Step, Task, Tried};
use crate::fault::{Class, Fault, Kind, Work};
use crate::policy::Policy;

/// The replanning context of a run: none when nothing failed that calls for another way, and nobody
/// said anything. What passed by itself is no reason to leave a way that was good.
pub fn context(state: &State, policy: &Policy, run: RunId) -> Option<String> {
    told(state, policy, run, tree)
}

/// The same inside a run that goes on, as the result of what failed: the tree is as it is.
pub fn result(state: &State, policy: &Policy, run: RunId) -> Option<String> {
    told(state, policy, run, |_, _| Tree::Kept)
}

fn told(
    state: &State,
    policy: &Policy,
    run: RunId,
    tree: impl Fn(Step, &Fault) -> Tree<'_>,
) -> Option<String> {
    let run = state.run(run)?;
    let task = state.task(run.task)?;
    let failure = called_for(task)?;
    if failure.class() == Class::EnvError && task.guidance.is_none() {
        return None;
    }
    let approaches = approaches(state, task, failure);
    let limits = policy.limits(failure.code(), &task.spec.overrides);
    let (attempt, of) = match task.work() {
        Work::Task => (state.signatures().count(failure.signature), limits.per_signature),
        Work::Job => (task.counters.repairs, limits.repairs),
    };
    let broke = task.repairs.broke.as_deref().filter(|broke| *broke != failure);
    let (message, broke_message) = (words(failure), broke.map(words).unwrap_or_default());
    Some(replan(&Replan {
        work: task.work(),
        guidance: guidance(task),
        failed: u32::try_from(approaches.len()).unwrap_or(u32::MAX).max(1),
        attempt: attempt.max(1),
        of,
        goal: &task.spec.goal,
        approaches: &approaches,
        broke: broke.map(|broke| failed(broke, &broke_message)),
        failure: failed(failure, &message),
        tree: if task.is_session() { Tree::Elsewhere } else { tree(run.step, failure) },
    }))
}

/// What calls for another way. Whatever else got in the way of a repair, it is about the script.
fn called_for(task: &Task) -> Option<&Fault> {
    let failure = task.failure.as_deref()?;
    let broke = task.repairs.broke.as_deref();
    match failure.class() {
        Class::CodeError => Some(failure),
        Class::EnvError | Class::NeverRetry => broke.or(Some(failure)),
    }
}

fn failed<'a>(fault: &'a Fault, message: &'a str) -> ReplanFailure<'a> {
    ReplanFailure { code: fault.code(), source: &fault.source, message }
}

/// What was tried against the error; of a job, all repairs of this firing that did not help.
fn approaches<'a>(state: &'a State, task: &'a Task, failure: &Fault) -> Vec<TriedApproach<'a>> {
    let tried: Vec<&Tried> = match task.work() {
        Work::Task => {
            let record = state.signatures().get(failure.signature);
            record.into_iter().flat_map(|record| &record.failed).map(|known| &known.tried).collect()
        }
        Work::Job => task.repairs.failed.iter().collect(),
    };
    let numbered = (1..).zip(tried);
    numbered
        .map(|(number, Tried { approach, code })| TriedApproach { number, approach, code: *code })
        .collect()
}

fn guidance(task: &Task) -> Option<Guidance<'_>> {
    let guidance = task.guidance.as_ref()?;
    let words = guidance.text.as_deref().unwrap_or_default();
    Some(Guidance { decision: guidance.decision, words })
}

/// What went wrong in words: of a red check, what it wrote.
fn words(failure: &Fault) -> Cow<'_, str> {
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

fn tree(step: Step, failure: &Fault) -> Tree<'_> {
    match (step, &failure.kind) {
        (Step::Attempt { start: Start::FromBase | Start::NewWorktree | Start::Fresh }, _) => {
            Tree::Reset { patch: None }
        }
        (Step::Repair { .. }, Kind::ScopeForbidden(files) | Kind::ScopeOutsideAllowed(files)) => {
            Tree::CheckedOut { patch: files.patch.as_deref() }
        }
        (Step::Repair { .. }, _) => Tree::CheckedOut { patch: None },
        (_, Kind::ScopeForbidden(files) | Kind::ScopeOutsideAllowed(files)) => {
            Tree::TakenBack { patch: files.patch.as_deref() }
        }
        _ => Tree::Kept,
    }
}
