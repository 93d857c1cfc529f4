//! What an agent reads at the head of its next prompt, or as the result of what failed.

use std::borrow::Cow;

use super::replan::{Guidance, Replan, ReplanFailure, Tree, TriedApproach, replan};
use crate::engine::{FailedApproach, RunId, Start, State, Step, Task};
use crate::fault::{Class, Fault, Kind};
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
    let failure = task.failure.as_ref()?;
    if failure.class() == Class::EnvError && task.guidance.is_none() {
        return None;
    }
    let record = state.signatures().get(failure.signature);
    let failed: &[FailedApproach] = record.map_or(&[], |record| &record.failed);
    let approaches: Vec<TriedApproach<'_>> = (1..)
        .zip(failed)
        .map(|(number, failed)| TriedApproach {
            number,
            approach: &failed.tried.approach,
            code: failed.tried.code,
        })
        .collect();
    let count = record.map_or(0, |record| record.count).max(1);
    let limits = policy.limits(failure.code(), &task.spec.overrides);
    Some(replan(&Replan {
        work: task.work(),
        guidance: guidance(task),
        failed: u32::try_from(approaches.len()).unwrap_or(u32::MAX).max(1),
        attempt: count,
        of: limits.per_signature,
        goal: &task.spec.goal,
        approaches: &approaches,
        failure: ReplanFailure {
            code: failure.code(),
            source: &failure.source,
            message: &words(failure),
        },
        tree: tree(run.step, failure),
    }))
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
        (_, Kind::ScopeForbidden(files) | Kind::ScopeOutsideAllowed(files)) => {
            Tree::TakenBack { patch: files.patch.as_deref() }
        }
        _ => Tree::Kept,
    }
}
