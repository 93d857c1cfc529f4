//! Brings the result of a build: creates one complete commit, and moves the operator's branch forward to
//! it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use unstuck_world::git::status::StatusEntry;
use unstuck_world::git::{DifferenceKind, NewCommit, Oid};

use super::marks::{self, MarkedFile};
use super::plan::{LandingPlan, LandingSource};
use crate::error::{CliError, LandError};
use crate::project;

/// The way to combine the histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LandMethod {
    Merge,
    Rebase,
}

pub(super) async fn land_build(coming: &mut LandingPlan, how: LandMethod) -> Result<(), CliError> {
    if coming.commits.is_empty() {
        return Ok(());
    }
    let marked = require_clean(coming).await?;
    let found = &coming.found;
    let next = if found.git.is_ancestor(&found.head, &found.tip).await? {
        found.tip.clone()
    } else {
        match how {
            LandMethod::Merge => create_merge(coming).await?,
            LandMethod::Rebase => replay_commits(coming).await?,
        }
    };
    require_room(coming, &next).await?;
    let carried = marks::carry_files(&coming.found, &marked, &next).await?;
    marks::move_forward(&coming.found, &next, &carried).await?;
    coming.landed = Some(next);
    coming.marked = marked.into_iter().map(|file| file.path).collect();
    Ok(())
}

/// Returns the reason why the result cannot be brought in the current state, apart from conflicts.
pub(super) async fn find_hindrance(coming: &LandingPlan) -> Result<Option<LandError>, CliError> {
    let Some(tree) = &coming.found.tree else { return Ok(None) };
    match require_fit(coming, tree).await {
        Err(CliError::Land(error)) => Ok(Some(error)),
        looked => looked.map(|()| None),
    }
}

async fn require_fit(coming: &LandingPlan, tree: &Oid) -> Result<(), CliError> {
    let marked = require_clean(coming).await?;
    require_room(coming, tree).await?;
    marks::carry_files(&coming.found, &marked, tree).await.map(drop)
}

/// Requires that the operator is on a branch and has no uncommitted changes other than check marks; returns
/// the files with such marks.
async fn require_clean(coming: &LandingPlan) -> Result<Vec<MarkedFile>, CliError> {
    if coming.onto.is_none() {
        return Err(LandError::NoBranchHere.into());
    }
    let mut marked = Vec::new();
    let mut files = Vec::new();
    for entry in coming.found.git.status().await? {
        match entry {
            StatusEntry::Changed(file) => {
                match marks::read_marked_file(&coming.found, &file).await? {
                    Some(file) => marked.push(file),
                    None => files.push(file.path),
                }
            }
            StatusEntry::Unmerged { path } => files.push(path),
            StatusEntry::Untracked { .. } | StatusEntry::Ignored { .. } => {}
        }
    }
    if files.is_empty() {
        return Ok(marked);
    }
    let merges = coming.found.git.resolve_commit("MERGE_HEAD").await?.is_some();
    Err(if merges {
        LandError::MergeInProgress { files }
    } else {
        LandError::Uncommitted { files }
    }
    .into())
}

/// Requires that no untracked file is at a path that a commit or tree would create. Git itself would
/// overwrite ignored files.
async fn require_room(coming: &LandingPlan, next: &Oid) -> Result<(), CliError> {
    let LandingSource { git, head, root, .. } = &coming.found;
    let mut new = Vec::new();
    let mut gone = BTreeSet::new();
    for difference in git.diff_trees(head, next).await? {
        match difference.what {
            DifferenceKind::Added | DifferenceKind::Copied => new.push(difference.path),
            DifferenceKind::Renamed => {
                new.push(difference.path);
                gone.extend(difference.from);
            }
            DifferenceKind::Deleted => drop(gone.insert(difference.path)),
            DifferenceKind::Modified | DifferenceKind::TypeChanged | DifferenceKind::Unmerged => {}
        }
    }
    let mut files = BTreeSet::new();
    for path in &new {
        collect_obstacles(root, path, &gone, &mut files);
    }
    if files.is_empty() {
        return Ok(());
    }
    Err(LandError::InTheWay { files: files.into_iter().collect() }.into())
}

/// Adds the obstacles for a new file: the path itself, files in a folder at the path, or a file in place of
/// one of its parents. A path in `gone`, deleted by the same commit, is no obstacle.
fn collect_obstacles(
    root: &Path,
    path: &Path,
    gone: &BTreeSet<PathBuf>,
    files: &mut BTreeSet<PathBuf>,
) {
    let mut above: Vec<&Path> = path.ancestors().filter(|at| *at != Path::new("")).collect();
    above.reverse();
    for at in above {
        let Ok(there) = fs::symlink_metadata(root.join(at)) else { return };
        if !there.is_dir() {
            if !gone.contains(at) {
                files.insert(at.to_owned());
            }
            return;
        }
    }
    let below = fs::read_dir(root.join(path)).into_iter().flatten().flatten();
    for entry in below {
        let within = path.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_obstacles(root, &within, gone, files);
        } else if !gone.contains(&within) {
            files.insert(within);
        }
    }
}

async fn create_merge(coming: &LandingPlan) -> Result<Oid, CliError> {
    let LandingSource { git, head, tip, tree, .. } = &coming.found;
    let Some(tree) = tree else { return Err(conflict_error(coming, coming.conflicts.clone())) };
    let Some(person) = git.read_author().await? else { return Err(LandError::NoName.into()) };
    let parents = [head.clone(), tip.clone()];
    let message = format!("Merge branch '{}'\n", coming.branch);
    let message = message.as_str();
    let person = &person;
    let at = project::now();
    let new = NewCommit { tree, parents: &parents, message, person, at, signed: true };
    Ok(git.create_commit(new).await?)
}

/// Recreates each commit on top of the operator's branch.
async fn replay_commits(coming: &LandingPlan) -> Result<Oid, CliError> {
    let LandingSource { git, head, commits, .. } = &coming.found;
    if git.read_author().await?.is_none() {
        return Err(LandError::NoName.into());
    }
    let mut onto = head.clone();
    for commit in commits {
        let [parent] = commit.parents.as_slice() else {
            return Err(LandError::NotInARow { build: coming.build }.into());
        };
        let merged = git.merge_changes(parent, &onto, &commit.oid).await?;
        if !merged.conflicts.is_empty() {
            return Err(conflict_error(coming, merged.conflicts));
        }
        // A change that the operator's branch already has makes no commit.
        if git.resolve_tree(onto.as_str()).await?.as_ref() != Some(&merged.tree) {
            onto = git.recreate_commit(&commit.oid, &merged.tree, &onto).await?;
        }
    }
    Ok(onto)
}

fn conflict_error(coming: &LandingPlan, files: Vec<PathBuf>) -> CliError {
    LandError::Conflicts { branch: coming.branch.clone(), files }.into()
}
