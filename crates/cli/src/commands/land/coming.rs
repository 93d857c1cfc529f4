//! What a build would bring, found out without touching anything.

use std::path::{Path, PathBuf};

use serde::Serialize;
use unstuck_core::engine::BuildId;
use unstuck_store::tables::BuildRow;
use unstuck_world::git::raw::What;
use unstuck_world::git::{Commit, Git, Oid};
use unstuck_world::workspace;

use super::pull::Opened;
use crate::error::{Error, LandError};

/// What a branch is called in full, before its name.
pub(super) const HEADS: &str = "refs/heads/";

/// What a build would bring to the person's branch, or has brought.
#[derive(Serialize)]
pub(super) struct Coming {
    pub(super) build: BuildId,
    /// Its branch.
    pub(super) branch: String,
    /// The person's branch; nothing where they are on none.
    pub(super) onto: Option<String>,
    /// Oldest first.
    pub(super) commits: Vec<Title>,
    pub(super) files: Vec<Changed>,
    /// Where both sides changed the same lines.
    pub(super) conflicts: Vec<PathBuf>,
    /// Why it cannot be brought as things are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hindrance: Option<String>,
    /// Whether a task of it changed anything.
    #[serde(skip)]
    pub(super) has_work: bool,
    /// Whether the build goes on.
    pub(super) unfinished: bool,
    /// The commit that the person's branch is at since.
    pub(super) landed: Option<Oid>,
    /// Its pull request, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pull_request: Option<Opened>,
    #[serde(skip)]
    pub(super) found: Found,
}

/// What is needed to bring it.
pub(super) struct Found {
    /// The person's working tree.
    pub(super) root: PathBuf,
    pub(super) git: Git,
    pub(super) head: Oid,
    pub(super) tip: Oid,
    /// Both changes in one; nothing where they conflict.
    pub(super) tree: Option<Oid>,
    pub(super) commits: Vec<Commit>,
}

/// A commit.
#[derive(Serialize)]
pub(super) struct Title {
    pub(super) commit: Oid,
    pub(super) title: String,
}

/// A file that changes.
#[derive(Serialize)]
pub(super) struct Changed {
    pub(super) path: PathBuf,
    pub(super) what: &'static str,
}

impl Coming {
    pub(super) async fn find(root: &Path, build: &BuildRow) -> Result<Self, Error> {
        let id = build.id;
        let repository = workspace::Project::open("git", root).await?;
        let (git, branch) = (repository.git().clone(), workspace::Project::branch(id));
        let Some(tip) = repository.build_tip(id).await? else {
            return Err(LandError::NoBranch { build: id }.into());
        };
        let (head, onto) = (git.head().await?, git.branch().await?);
        let Some(base) = git.merge_base(&head, &tip).await? else {
            return Err(LandError::NothingInCommon { build: id }.into());
        };
        let mut commits = git.commits(&head, &tip).await?;
        let differences = git.differences(&base, &tip).await?;
        let merged = git.merge(&base, &head, &tip).await?;
        if git.has_all_of(&head, &tip).await? {
            commits.clear();
        }
        let short = |name: String| name.strip_prefix(HEADS).map_or(name.clone(), str::to_owned);
        let tree = merged.conflicts.is_empty().then_some(merged.tree);
        Ok(Self {
            build: id,
            branch: short(branch),
            onto: onto.map(short),
            commits: commits.iter().map(title).collect(),
            files: differences
                .into_iter()
                .filter(|_| !commits.is_empty())
                .map(|file| Changed { path: file.path, what: said(file.what) })
                .collect(),
            conflicts: if commits.is_empty() { Vec::new() } else { merged.conflicts },
            hindrance: None,
            has_work: true,
            unfinished: !build.state.has_ended(),
            landed: None,
            pull_request: None,
            found: Found { root: repository.root().to_owned(), git, head, tip, tree, commits },
        })
    }
}

fn title(commit: &Commit) -> Title {
    Title { commit: commit.oid.clone(), title: commit.title.clone() }
}

const fn said(what: What) -> &'static str {
    match what {
        What::Added | What::Copied => "new",
        What::Deleted => "gone",
        What::Renamed => "moved",
        What::Modified | What::TypeChanged | What::Unmerged => "changed",
    }
}
