//! Errors of merging the result of a build into the operator's branch, or of sending it.

use std::path::PathBuf;

use unstuck_core::engine::BuildId;
use unstuck_core::fault::Code;
use unstuck_core::text::brief::plain_line;

use super::one_hint;
use crate::exit::Exit;

#[derive(Debug, thiserror::Error)]
pub(crate) enum LandError {
    #[error("build {build} has no branch: nothing of it was saved")]
    NoBranch { build: BuildId },
    /// The build has commits, but no branch of its own.
    #[error("build {build} has no branch: it was removed, or the work was done in your own tree")]
    BranchGone { build: BuildId },
    #[error("build {build} and your branch have no commit in common")]
    NothingInCommon { build: BuildId },
    /// No branch is checked out (HEAD is detached).
    #[error("you are on no branch, so there is nothing to bring it to")]
    NoBranchHere,
    #[error("you have changes that are not committed: {}", paths(.files))]
    Uncommitted { files: Vec<PathBuf> },
    #[error("a merge of yours is not finished: {}", paths(.files))]
    MergeInProgress { files: Vec<PathBuf> },
    /// The build changes files in which the operator has uncommitted check marks, and the marks have no
    /// certain place in the new text.
    #[error(
        "the build also changes {}, and your uncommitted check marks do not fit its text",
        paths(.files)
    )]
    MarksStuck { files: Vec<PathBuf> },
    /// Untracked files are at paths that the merge would write.
    #[error("untracked files are in the way: {}", paths(.files))]
    InTheWay { files: Vec<PathBuf> },
    #[error("it conflicts: both sides changed {}", paths(.files))]
    Conflicts { branch: String, files: Vec<PathBuf> },
    #[error("the commits of build {build} are not a straight line")]
    NotInARow { build: BuildId },
    #[error("git does not know your name, so it cannot make a commit")]
    NoName,
    #[error("{variable} is not set, so no pull request can be opened")]
    NoToken { variable: String },
    #[error(
        "the remote {remote} is not at GitHub, so it is not known where to open a pull request"
    )]
    NotAtGithub { remote: String },
    #[error(
        "{code}: {} fails on that commit, so no pull request was opened\n{}",
        plain_line(.command),
        last_lines(.output)
    )]
    Red {
        /// The fault code of the gate that failed.
        code: Code,
        command: String,
        output: String,
    },
    #[error("this pull request was skipped, as decided before")]
    PullRequestLeftOut,
    /// The response of GitHub was lost, and the pull request cannot be looked up.
    #[error("it is not known whether the pull request was opened")]
    PullRequestUnknown,
}

impl LandError {
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::PullRequestLeftOut | Self::Red { .. } => Exit::SomeFailed,
            Self::NotAtGithub { .. } => Exit::Config,
            Self::NoToken { .. } => Exit::Denied,
            Self::PullRequestUnknown => Exit::Waiting,
            Self::NoBranch { .. }
            | Self::BranchGone { .. }
            | Self::NothingInCommon { .. }
            | Self::NoBranchHere
            | Self::Uncommitted { .. }
            | Self::MergeInProgress { .. }
            | Self::MarksStuck { .. }
            | Self::InTheWay { .. }
            | Self::Conflicts { .. }
            | Self::NotInARow { .. }
            | Self::NoName => Exit::Usage,
        }
    }

    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::BranchGone { build } => vec![
                format!("`unstuck report {build}` names its commits"),
                "`unstuck clean` removes a branch only if its commits are in another".to_owned(),
            ],
            Self::NoBranch { .. } => one_hint("`unstuck status` shows what became of its tasks"),
            Self::NothingInCommon { .. } => {
                one_hint("check out the branch that the build was started on")
            }
            Self::NoBranchHere => one_hint("`git switch BRANCH` goes to one"),
            Self::MergeInProgress { .. } => one_hint(
                "nothing was changed; finish it with `git commit`, or `git merge --abort` ends it",
            ),
            Self::Uncommitted { .. } | Self::MarksStuck { .. } => {
                one_hint("nothing was changed; commit them, or `git stash` puts them aside")
            }
            Self::InTheWay { .. } => {
                one_hint("nothing was changed; move them away, or commit them")
            }
            Self::Conflicts { branch, .. } => one_hint(format!(
                "nothing was changed; `git merge {branch}` lets you merge them by hand"
            )),
            Self::NotInARow { .. } => one_hint("nothing was changed; use --merge instead"),
            Self::NoName => {
                one_hint("`git config user.name NAME` and `git config user.email ADDRESS`")
            }
            Self::NoToken { variable } => vec![
                format!("`export {variable}=…` with a token that may open pull requests"),
                "`github.token_env` in unstuck.toml names another variable".to_owned(),
            ],
            Self::NotAtGithub { .. } => one_hint(
                "set `github.repository` and `github.base_url` in unstuck.toml, or `run.remote`",
            ),
            Self::Red { .. } => {
                one_hint("`unstuck run` with what is wrong as a task lets an agent fix it")
            }
            Self::PullRequestLeftOut => {
                one_hint("`unstuck land --merge` brings the work into your branch")
            }
            Self::PullRequestUnknown => {
                one_hint("check whether it exists, then answer with `unstuck inbox`")
            }
        }
    }
}

/// Maximum number of lines of a check's output that are shown.
const LINES_MAX: usize = 20;

/// Returns the last non-empty lines of an output, each behind a bar.
fn last_lines(output: &str) -> String {
    let lines: Vec<String> =
        output.lines().filter(|line| !line.trim().is_empty()).map(plain_line).collect();
    let last = &lines[lines.len().saturating_sub(LINES_MAX)..];
    last.iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}

/// Maximum number of files that are listed by name.
const PATHS_MAX: usize = 5;

/// Formats a list such as `a, b and 3 more`.
fn paths(files: &[PathBuf]) -> String {
    let shown: Vec<String> =
        files.iter().take(PATHS_MAX).map(|file| plain_line(&file.to_string_lossy())).collect();
    match files.len().saturating_sub(PATHS_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
