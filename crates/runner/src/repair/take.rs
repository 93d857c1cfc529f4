//! Use of a repair: the operator's branch, index and files are fast-forwarded to it, unless that
//! would touch changes of theirs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unstuck_core::fault::Fault;
use unstuck_world::git::status::Entry;
use unstuck_world::git::{Git, Oid};

/// The result of the try to use a commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The commit is in use, now or since an earlier time.
    Done,
    /// The operator's branch has moved; the repair has to be checked on its new head first.
    HeadMoved,
    /// The operator's own changes prevent it.
    InTheWay,
}

/// Fast-forwards the checkout to `commit`.
pub(super) async fn take(git: &Git, commit: &Oid) -> Result<Taken, Fault> {
    let head = git.head().await?;
    if git.is_ancestor(commit, &head).await? {
        return Ok(Taken::Done);
    }
    if git.parent_of(commit).await?.as_ref() != Some(&head) {
        return Ok(Taken::HeadMoved);
    }
    // With a detached head a commit is easily lost.
    if git.branch().await?.is_none() || is_dirty(git, &head, commit).await? {
        return Ok(Taken::InTheWay);
    }
    match git.go_on_to(commit).await {
        Ok(()) => Ok(Taken::Done),
        // Another process moved the branch, or a file was saved at this very moment. Git has
        // changed nothing.
        Err(_) if git.head().await? != head => Ok(Taken::HeadMoved),
        Err(fault) => {
            tracing::info!(%fault, "a repair cannot be used as it is; it is proposed");
            Ok(Taken::InTheWay)
        }
    }
}

/// Returns whether the operator has uncommitted changes in a file that the repair touches.
async fn is_dirty(git: &Git, head: &Oid, commit: &Oid) -> Result<bool, Fault> {
    let touched = git.differences(head, commit).await?;
    let touched: BTreeSet<PathBuf> =
        touched.into_iter().flat_map(|of| [Some(of.path), of.from]).flatten().collect();
    let entries = git.status().await?;
    Ok(entries.iter().any(|entry| match entry {
        Entry::Changed(file) => {
            touched.contains(&file.path) || file.from.as_ref().is_some_and(|f| touched.contains(f))
        }
        Entry::Unmerged { .. } => true,
        Entry::Untracked { path, .. } => touched.iter().any(|touched| touched.starts_with(path)),
        Entry::Ignored { .. } => false,
    }))
}
