//! What an agent reads at the head of its next prompt, or as the result of what failed.

use super::replan::{Guidance, Replan, ReplanFailure, Tree, TriedApproach, replan};
use crate::engine::{FailedApproach, RunId, Start, State, Step, Task};
use crate::policy::Policy;

/// The replanning context of a run: none when nothing failed and nobody said anything.
pub fn context(state: &State, policy: &Policy, run: RunId) -> Option<String> {
    told(state, policy, run, tree(state.run(run)?.step))
}

/// The same inside a run that goes on, as the result of what failed: the tree is as it is.
pub fn result(state: &State, policy: &Policy, run: RunId) -> Option<String> {
    told(state, policy, run, Tree::Kept)
}

fn told(state: &State, policy: &Policy, run: RunId, tree: Tree<'_>) -> Option<String> {
    let run = state.run(run)?;
    let task = state.task(run.task)?;
    let failure = task.failure.as_ref()?;
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
            message: &failure.message,
        },
        tree,
    }))
}

fn guidance(task: &Task) -> Option<Guidance<'_>> {
    let guidance = task.guidance.as_ref()?;
    let words = guidance.text.as_deref().unwrap_or_default();
    Some(Guidance { decision: guidance.decision, words })
}

const fn tree(step: Step) -> Tree<'static> {
    match step {
        Step::Attempt { start: Start::FromBase | Start::NewWorktree | Start::Fresh } => {
            Tree::Reset { patch: None }
        }
        _ => Tree::Kept,
    }
}
