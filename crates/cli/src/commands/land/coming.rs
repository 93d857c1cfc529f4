//! Determines the result of a build without touching any file.

use std::path::{Path, PathBuf};

use serde::Serialize;
use unstuck_core::engine::BuildId;
use unstuck_store::tables::BuildRow;
use unstuck_world::git::raw::DifferenceKind;
use unstuck_world::git::{CommitSummary, Git, Oid};
use unstuck_world::workspace;

use super::pull::OpenPullRequest;
use crate::error::{CliError, LandError};

/// The prefix of a branch's full name.
pub(super) const HEADS: &str = "refs/heads/";

/// The result of a build for the operator's branch, before or after it is brought.
#[derive(Serialize)]
pub(super) struct LandingPlan {
    pub(super) build: BuildId,
    /// The branch of the build.
    pub(super) branch: String,
    /// The operator's branch; `None` if HEAD is detached.
    pub(super) onto: Option<String>,
    /// Commits, oldest first.
    pub(super) commits: Vec<CommitTitle>,
    pub(super) files: Vec<LandingFile>,
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
    pub(super) pull_request: Option<OpenPullRequest>,
    #[serde(skip)]
    pub(super) found: LandingSource,
}

/// The data needed to bring the result.
pub(super) struct LandingSource {
    /// The operator's working tree.
    pub(super) root: PathBuf,
    pub(super) git: Git,
    pub(super) head: Oid,
    pub(super) tip: Oid,
    /// The merged tree; `None` on conflicts.
    pub(super) tree: Option<Oid>,
    pub(super) commits: Vec<CommitSummary>,
}

/// A commit with its title.
#[derive(Serialize)]
pub(super) struct CommitTitle {
    pub(super) commit: Oid,
    pub(super) title: String,
}

/// A changed file.
#[derive(Serialize)]
pub(super) struct LandingFile {
    pub(super) path: PathBuf,
    pub(super) what: &'static str,
}

impl LandingPlan {
    pub(super) async fn find(root: &Path, build: &BuildRow) -> Result<Self, CliError> {
        let id = build.id;
        let repository = workspace::ProjectRepository::open("git", root).await?;
        let git = repository.git().clone();
        let branch = workspace::ProjectRepository::build_branch(id);
        let Some(tip) = repository.find_build_tip(id).await? else {
            return Err(LandError::NoBranch { build: id }.into());
        };
        let head = git.resolve_head().await?;
        let onto = git.current_branch().await?;
        let Some(base) = git.find_merge_base(&head, &tip).await? else {
            return Err(LandError::NothingInCommon { build: id }.into());
        };
        let mut commits = git.list_commits(&head, &tip).await?;
        let differences = git.diff_trees(&base, &tip).await?;
        let merged = git.merge_changes(&base, &head, &tip).await?;
        if git.contains_work_of(&head, &tip).await? {
            commits.clear();
        }
        let short = |name: String| name.strip_prefix(HEADS).map_or(name.clone(), str::to_owned);
        let tree = merged.conflicts.is_empty().then_some(merged.tree);
        Ok(Self {
            build: id,
            branch: short(branch),
            onto: onto.map(short),
            commits: commits.iter().map(commit_title).collect(),
            files: differences
                .into_iter()
                .filter(|_| !commits.is_empty())
                .map(|file| LandingFile { path: file.path, what: render_change(file.what) })
                .collect(),
            conflicts: if commits.is_empty() { Vec::new() } else { merged.conflicts },
            hindrance: None,
            has_work: true,
            unfinished: !build.state.has_ended(),
            landed: None,
            pull_request: None,
            found: LandingSource {
                root: repository.root().to_owned(),
                git,
                head,
                tip,
                tree,
                commits,
            },
        })
    }
}

fn commit_title(commit: &CommitSummary) -> CommitTitle {
    CommitTitle { commit: commit.oid.clone(), title: commit.title.clone() }
}

const fn render_change(what: DifferenceKind) -> &'static str {
    match what {
        DifferenceKind::Added | DifferenceKind::Copied => "new",
        DifferenceKind::Deleted => "gone",
        DifferenceKind::Renamed => "moved",
        DifferenceKind::Modified | DifferenceKind::TypeChanged | DifferenceKind::Unmerged => {
            "changed"
        }
    }
}
