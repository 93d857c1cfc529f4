//! Determines the result of a build without touching any file.

use std::path::{Path, PathBuf};

use serde::Serialize;
use unstuck_core::engine::BuildId;
use unstuck_store::tables::BuildRow;
use unstuck_world::git::raw::What;
use unstuck_world::git::{Commit, Git, Oid};
use unstuck_world::workspace;

use super::pull::Opened;
use crate::error::{Error, LandError};

/// The prefix of a branch's full name.
pub(super) const HEADS: &str = "refs/heads/";

/// The result of a build for the operator's branch, before or after it is brought.
#[derive(Serialize)]
pub(super) struct Coming {
    pub(super) build: BuildId,
    /// The branch of the build.
    pub(super) branch: String,
    /// The operator's branch; `None` if HEAD is detached.
    pub(super) onto: Option<String>,
    /// Commits, oldest first.
    pub(super) commits: Vec<Title>,
    pub(super) files: Vec<Changed>,
    /// Paths with conflicts.
    pub(super) conflicts: Vec<PathBuf>,
    /// The reason why the result cannot be brought in the current state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hindrance: Option<String>,
    /// Set if a task of the build changed anything.
    #[serde(skip)]
    pub(super) has_work: bool,
    /// Set if the build has not ended.
    pub(super) unfinished: bool,
    /// The new tip of the operator's branch, once the result is brought.
    pub(super) landed: Option<Oid>,
    /// The pull request, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pull_request: Option<Opened>,
    #[serde(skip)]
    pub(super) found: Found,
}

/// The data needed to bring the result.
pub(super) struct Found {
    /// The operator's working tree.
    pub(super) root: PathBuf,
    pub(super) git: Git,
    pub(super) head: Oid,
    pub(super) tip: Oid,
    /// The merged tree; `None` on conflicts.
    pub(super) tree: Option<Oid>,
    pub(super) commits: Vec<Commit>,
}

/// A commit with its title.
#[derive(Serialize)]
pub(super) struct Title {
    pub(super) commit: Oid,
    pub(super) title: String,
}

/// A changed file.
#[derive(Serialize)]
pub(super) struct Changed {
    pub(super) path: PathBuf,
    pub(super) what: &'static str,
}

impl Coming {
    pub(super) async fn find(root: &Path, build: &BuildRow) -> Result<Self, Error> {
        let id = build.id;
        let repository = workspace::Project::open("git", root).await?;
        let git = repository.git().clone();
        let branch = workspace::Project::branch(id);
        let Some(tip) = repository.build_tip(id).await? else {
            return Err(LandError::NoBranch { build: id }.into());
        };
        let head = git.head().await?;
        let onto = git.branch().await?;
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
