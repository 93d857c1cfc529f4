//! The way of a repair into use: the operator's branch, index and files are fast-forwarded to it,
//! unless that would touch changes of theirs. Otherwise it waits on a branch of its own, and no
//! branch or file of the operator's is touched.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unstuck_core::fault::{Fault, Missing};
use unstuck_world::git::status::StatusEntry;
use unstuck_world::git::{Git, Oid, RefChange, RefSwapOutcome};

use super::wording::branch_slug;
use crate::effects::EffectRequest;

const HEADS: &str = "refs/heads/";
/// Maximum number of proposal branches of one job before the operator has to delete some.
const PROPOSALS_MAX: u32 = 100;

/// The result of the try to use a commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CheckoutMergeResult {
    /// The commit is in use, now or since an earlier time.
    Done,
    /// The operator's branch has moved; the repair has to be checked on its new head first.
    HeadMoved,
    /// The operator's own changes prevent it.
    InTheWay,
}

/// Fast-forwards the checkout to `commit`.
pub(super) async fn fast_forward_checkout(
    git: &Git,
    commit: &Oid,
) -> Result<CheckoutMergeResult, Fault> {
    let head = git.resolve_head().await?;
    if git.is_ancestor(commit, &head).await? {
        return Ok(CheckoutMergeResult::Done);
    }
    if git.resolve_parent(commit).await?.as_ref() != Some(&head) {
        return Ok(CheckoutMergeResult::HeadMoved);
    }
    // With a detached head a commit is easily lost.
    if git.current_branch().await?.is_none() || has_local_changes(git, &head, commit).await? {
        return Ok(CheckoutMergeResult::InTheWay);
    }
    match git.fast_forward_to(commit).await {
        Ok(()) => Ok(CheckoutMergeResult::Done),
        // Another process moved the branch, or a file was saved at this very moment. Git has
        // changed nothing.
        Err(_) if git.resolve_head().await? != head => Ok(CheckoutMergeResult::HeadMoved),
        Err(fault) => {
            tracing::info!(%fault, "a repair cannot be used as it is; it is proposed");
            Ok(CheckoutMergeResult::InTheWay)
        }
    }
}

/// Returns whether the operator has uncommitted changes in a file that the repair touches.
async fn has_local_changes(git: &Git, head: &Oid, commit: &Oid) -> Result<bool, Fault> {
    let touched = git.diff_trees(head, commit).await?;
    let touched: BTreeSet<PathBuf> =
        touched.into_iter().flat_map(|of| [Some(of.path), of.from]).flatten().collect();
    let entries = git.status().await?;
    Ok(entries.iter().any(|entry| match entry {
        StatusEntry::Changed(file) => {
            touched.contains(&file.path) || file.from.as_ref().is_some_and(|f| touched.contains(f))
        }
        StatusEntry::Unmerged { .. } => true,
        StatusEntry::Untracked { path, .. } => {
            touched.iter().any(|touched| touched.starts_with(path))
        }
        StatusEntry::Ignored { .. } => false,
    }))
}

/// Points a branch at `commit`, and returns its name. An existing branch with commits that the
/// operator has not merged is left alone.
pub(super) async fn propose_on_branch(
    git: &Git,
    order: &EffectRequest,
    commit: &Oid,
) -> Result<String, Fault> {
    let name = format!("unstuck/repair/{}", branch_slug(order));
    let head = git.resolve_head().await?;
    let taken: Vec<String> =
        git.list_worktrees().await?.into_iter().filter_map(|t| t.branch).collect();
    let mut short = name.clone();
    for number in 2..PROPOSALS_MAX {
        let full = format!("{HEADS}{short}");
        let old = git.resolve_commit(&full).await?;
        let is_free = match &old {
            None => true,
            Some(there) if there == commit => return Ok(short),
            Some(there) => git.is_ancestor(there, &head).await? && !taken.contains(&full),
        };
        if is_free {
            let change = RefChange { name: full, old, new: Some(commit.clone()) };
            if let RefSwapOutcome::Done =
                git.swap_refs(&[change], "unstuck: propose a repair").await?
            {
                return Ok(short);
            }
        }
        short = format!("{name}-{number}");
    }
    let context = Missing { what: "room for another proposal".to_owned() };
    let message = format!("too many branches begin with {name}; delete those you do not need");
    Err(Fault::precondition_missing("repair", message, context))
}
