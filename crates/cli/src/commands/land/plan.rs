//! The result of a build for the operator's branch, determined without touching any file, and its page for
//! people.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use unstuck_core::engine::BuildId;
use unstuck_store::tables::BuildRow;
use unstuck_world::git::{CommitSummary, DifferenceKind, Git, Oid};
use unstuck_world::workspace;

use crate::commands::pull_request::OpenPullRequest;
use crate::error::{CliError, LandError};
use crate::render::style::{CODE, DIM, TITLE};
use crate::render::{words, wrap_text};

/// The prefix of a branch's full name.
pub(super) const HEADS: &str = "refs/heads/";

/// The result of a build for the operator's branch, before or after it is brought.
#[derive(Serialize)]
pub(super) struct LandingPlan {
    pub(super) build: BuildId,
    pub(super) branch: String,
    /// The operator's branch; `None` if HEAD is detached.
    pub(super) onto: Option<String>,
    /// Commits, oldest first.
    pub(super) commits: Vec<CommitTitle>,
    pub(super) files: Vec<LandingFile>,
    pub(super) conflicts: Vec<PathBuf>,
    /// The reason why the result cannot be brought in the current state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hindrance: Option<String>,
    /// The operator's files with uncommitted check marks, which stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) marked: Vec<PathBuf>,
    /// Set if a task of the build changed anything.
    #[serde(skip)]
    pub(super) has_work: bool,
    /// Set if the build has not ended.
    pub(super) unfinished: bool,
    /// The new tip of the operator's branch, once the result is brought.
    pub(super) landed: Option<Oid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pull_request: Option<OpenPullRequest>,
    #[serde(skip)]
    pub(super) found: LandingSource,
}

/// The data needed to bring the result.
pub(super) struct LandingSource {
    /// The operator's working tree.
    pub(super) root: PathBuf,
    /// The folder of the project in it.
    pub(super) folder: PathBuf,
    pub(super) git: Git,
    pub(super) head: Oid,
    pub(super) tip: Oid,
    /// The merged tree; `None` on conflicts.
    pub(super) tree: Option<Oid>,
    pub(super) commits: Vec<CommitSummary>,
}

#[derive(Serialize)]
pub(super) struct CommitTitle {
    pub(super) commit: Oid,
    pub(super) title: String,
}

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
            let tally = build.tally();
            return Err(match tally.done.saturating_sub(tally.unchanged) {
                0 => LandError::NoBranch { build: id },
                _ => LandError::BranchGone { build: id },
            }
            .into());
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
            marked: Vec::new(),
            has_work: true,
            unfinished: !build.state.has_ended(),
            landed: None,
            pull_request: None,
            found: LandingSource {
                root: repository.checkout().to_owned(),
                folder: repository.folder().to_owned(),
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

/// Maximum number of commits and of files that are shown.
const ROWS_MAX: usize = 20;
/// Number of characters of a commit id that are shown.
const NAME_CHARS: usize = 9;

pub(super) fn write_page(
    out: &mut impl Write,
    coming: &LandingPlan,
    width: usize,
) -> io::Result<()> {
    let build = coming.build;
    let onto = coming.onto.as_deref().unwrap_or("what you have here");
    let commits = words::render_count(coming.commits.len(), "commit", "commits");
    if coming.commits.is_empty() && !coming.has_work {
        let why =
            if coming.unfinished { "no task of it is done yet" } else { "it changed nothing" };
        writeln!(out, "There is nothing of build {build} to land: {why}.")?;
        return write_unfinished(out, coming);
    }
    if coming.commits.is_empty() {
        writeln!(out, "Everything of build {build} is in {onto} already.")?;
        return write_unfinished(out, coming);
    }
    if let Some(landed) = &coming.landed {
        let at: String = landed.as_str().chars().take(NAME_CHARS).collect();
        writeln!(out, "{onto} has the {commits} of build {build} now. It is at {at}.")?;
        write_marked(out, coming, width)?;
        return write_unfinished(out, coming);
    }
    if let Some(opened) = &coming.pull_request {
        let said = if opened.before { "is" } else { "is now" };
        let url = words::plain_line(&opened.url);
        writeln!(out, "A pull request for the {commits} of build {build} {said} open to {onto}:")?;
        writeln!(out, "  {CODE}{url}{CODE:#}")?;
        return write_unfinished(out, coming);
    }
    let files = words::render_count(coming.files.len(), "file", "files");
    writeln!(out, "{TITLE}Build {build} brings {commits} to {onto}, in {files}.{TITLE:#}\n")?;
    write_rows(out, coming)?;
    write_unfinished(out, coming)?;
    write_fit(out, coming, width)
}

/// Writes which files of the operator still have uncommitted check marks.
fn write_marked(out: &mut impl Write, coming: &LandingPlan, width: usize) -> io::Result<()> {
    if coming.marked.is_empty() {
        return Ok(());
    }
    let line = format!("The check marks in {} are not committed yet.", join_paths(&coming.marked));
    writeln!(out, "{}", wrap_text(&line, 0, width))
}

fn join_paths(paths: &[PathBuf]) -> String {
    let paths = paths.iter().map(|path| words::plain_line(&path.to_string_lossy()));
    paths.collect::<Vec<_>>().join(", ")
}

fn write_rows(out: &mut impl Write, coming: &LandingPlan) -> io::Result<()> {
    for title in coming.commits.iter().take(ROWS_MAX) {
        let name: String = title.commit.as_str().chars().take(NAME_CHARS).collect();
        writeln!(out, "  {CODE}{name}{CODE:#}  {}", words::plain_line(&title.title))?;
    }
    write_more(out, coming.commits.len())?;
    writeln!(out)?;
    for file in coming.files.iter().take(ROWS_MAX) {
        let path = words::plain_line(&file.path.to_string_lossy());
        writeln!(out, "  {DIM}{:7}{DIM:#}  {path}", file.what)?;
    }
    write_more(out, coming.files.len())
}

fn write_more(out: &mut impl Write, count: usize) -> io::Result<()> {
    let rest = count.saturating_sub(ROWS_MAX);
    if rest == 0 { Ok(()) } else { writeln!(out, "  {DIM}… and {rest} more{DIM:#}") }
}

fn write_unfinished(out: &mut impl Write, coming: &LandingPlan) -> io::Result<()> {
    if !coming.unfinished {
        return Ok(());
    }
    writeln!(out, "\n{DIM}Build {} is not over: more may come.{DIM:#}", coming.build)
}

/// Writes whether the result can be brought, and the next commands.
fn write_fit(out: &mut impl Write, coming: &LandingPlan, width: usize) -> io::Result<()> {
    let build = coming.build;
    let branch = &coming.branch;
    writeln!(out)?;
    if let Some(hindrance) = &coming.hindrance {
        let line = format!("It cannot be brought yet: {hindrance}. Nothing was changed.");
        writeln!(out, "{}", wrap_text(&line, 0, width))?;
    } else if coming.conflicts.is_empty() {
        writeln!(out, "It fits. Nothing was changed yet.")?;
        writeln!(out, "  {DIM}`unstuck land {build} --merge` brings it.{DIM:#}")?;
        writeln!(out, "  {DIM}`unstuck land {build} --rebase` puts it on top of yours.{DIM:#}")?;
    } else {
        let line =
            format!("It does not fit: both sides changed {}.", join_paths(&coming.conflicts));
        writeln!(out, "{}", wrap_text(&line, 0, width))?;
        writeln!(out, "  {DIM}`git merge {branch}` lets you merge them by hand.{DIM:#}")?;
    }
    if coming.onto.is_none() {
        return writeln!(out, "  {DIM}`git switch BRANCH` goes to a branch.{DIM:#}");
    }
    writeln!(out, "  {DIM}`unstuck land {build} --pr` opens a pull request for it.{DIM:#}")
}
