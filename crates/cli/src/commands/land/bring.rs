//! Bringing it: one finished commit, and the person's branch goes on to it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use unstuck_world::git::status::Entry;
use unstuck_world::git::{NewCommit, Oid};

use super::coming::{Coming, Found};
use crate::error::{Error, LandError};
use crate::project;

/// How it is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Merge,
    Rebase,
}

pub(super) async fn bring(coming: &mut Coming, how: How) -> Result<(), Error> {
    if coming.commits.is_empty() {
        return Ok(());
    }
    if coming.onto.is_none() {
        return Err(LandError::NoBranchHere.into());
    }
    clean(coming).await?;
    let found = &coming.found;
    let next = if found.git.is_ancestor(&found.head, &found.tip).await? {
        found.tip.clone()
    } else {
        match how {
            How::Merge => merged(coming).await?,
            How::Rebase => replayed(coming).await?,
        }
    };
    coming.found.git.go_on_to(&next).await?;
    coming.landed = Some(next);
    Ok(())
}

/// Nothing of the person's is in the way.
async fn clean(coming: &Coming) -> Result<(), Error> {
    let wanted: BTreeSet<&PathBuf> = coming.files.iter().map(|file| &file.path).collect();
    let (mut changed, mut in_the_way) = (Vec::new(), Vec::new());
    for entry in coming.found.git.status().await? {
        match entry {
            Entry::Changed(file) => changed.push(file.path),
            Entry::Unmerged { path } => changed.push(path),
            Entry::Untracked { path, .. } if wanted.contains(&path) => in_the_way.push(path),
            Entry::Untracked { .. } | Entry::Ignored { .. } => {}
        }
    }
    if !changed.is_empty() {
        return Err(LandError::Uncommitted { files: changed }.into());
    }
    if !in_the_way.is_empty() {
        return Err(LandError::InTheWay { files: in_the_way }.into());
    }
    Ok(())
}

/// One commit that joins both.
async fn merged(coming: &Coming) -> Result<Oid, Error> {
    let Found { git, head, tip, tree, .. } = &coming.found;
    let Some(tree) = tree else { return Err(conflicts(coming, coming.conflicts.clone())) };
    let Some(person) = git.person().await? else { return Err(LandError::NoName.into()) };
    let parents = [head.clone(), tip.clone()];
    let message = format!("Merge branch '{}'\n", coming.branch);
    let (message, person, at) = (message.as_str(), &person, project::now());
    let new = NewCommit { tree, parents: &parents, message, person, at, signed: true };
    Ok(git.make_commit(new).await?)
}

/// Each of its commits once more, on top of the person's.
async fn replayed(coming: &Coming) -> Result<Oid, Error> {
    let Found { git, head, commits, .. } = &coming.found;
    if git.person().await?.is_none() {
        return Err(LandError::NoName.into());
    }
    let mut onto = head.clone();
    for commit in commits {
        let [parent] = commit.parents.as_slice() else {
            return Err(LandError::NotInARow { build: coming.build }.into());
        };
        let merged = git.merge(parent, &onto, &commit.oid).await?;
        if !merged.conflicts.is_empty() {
            return Err(conflicts(coming, merged.conflicts));
        }
        // What the person has already makes no commit of its own.
        if git.tree_of(onto.as_str()).await?.as_ref() != Some(&merged.tree) {
            onto = git.repeat_commit(&commit.oid, &merged.tree, &onto).await?;
        }
    }
    Ok(onto)
}

fn conflicts(coming: &Coming, files: Vec<PathBuf>) -> Error {
    LandError::Conflicts { branch: coming.branch.clone(), files }.into()
}
