//! Use of a repair: the operator's branch, index and files are fast-forwarded to it, unless that
//! would touch changes of theirs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unstuck_core::fault::Fault;
use unstuck_world::git::status::StatusEntry;
use unstuck_world::git::{Git, Oid};

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
