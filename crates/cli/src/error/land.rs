//! Bringing what a build did into the person's branch, or sending it.

use std::path::PathBuf;

use unstuck_core::engine::BuildId;
use unstuck_core::fault::Code;

use crate::exit::Exit;
use crate::render::words::plain_line;

/// Why it could not be brought or sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LandError {
    /// A build that nothing was saved of.
    #[error("build {build} has no branch: nothing of it was saved")]
    NoBranch {
        /// Which one.
        build: BuildId,
    },
    /// A build and the person's branch have no commit in common.
    #[error("build {build} and your branch have no commit in common")]
    NothingInCommon {
        /// Which one.
        build: BuildId,
    },
    /// No branch is checked out.
    #[error("you are on no branch, so nothing can be brought to it")]
    NoBranchHere,
    /// Something of the person's is not committed.
    #[error("you have changes that are not committed: {}", paths(.files))]
    Uncommitted {
        /// In which files.
        files: Vec<PathBuf>,
    },
    /// Files that git does not know are where others are to come.
    #[error("files that git does not know are in the way: {}", paths(.files))]
    InTheWay {
        /// Which ones.
        files: Vec<PathBuf>,
    },
    /// Both sides changed the same lines.
    #[error("it does not fit: both sides changed {}", paths(.files))]
    Conflicts {
        /// The build's branch.
        branch: String,
        /// In which files.
        files: Vec<PathBuf>,
    },
    /// The commits of a build do not stand one after the other.
    #[error("the commits of build {build} do not stand in a row")]
    NotInARow {
        /// Which one.
        build: BuildId,
    },
    /// Git does not know who commits.
    #[error("git does not know your name, so it cannot make a commit")]
    NoName,
    /// The token for pull requests is missing.
    #[error("{variable} is not set, so no pull request can be opened")]
    NoToken {
        /// The variable that is expected to hold it.
        variable: String,
    },
    /// Nobody knows where the pull request belongs.
    #[error(
        "the remote {remote} is not at GitHub, so it is not known where to open a pull request"
    )]
    NotAtGithub {
        /// Its name.
        remote: String,
    },
    /// A check is red on the commit that is to be sent.
    #[error(
        "{code}: {} is red on that commit, so no pull request was opened\n{}",
        plain_line(.command),
        last_lines(.output)
    )]
    Red {
        /// Which gate said so.
        code: Code,
        /// The check.
        command: String,
        /// What it wrote.
        output: String,
    },
    /// A person decided to leave the pull request out.
    #[error("it was decided to leave this pull request out")]
    PullRequestLeftOut,
    /// The answer was lost, and it cannot be looked up.
    #[error("it is not known whether the pull request was opened")]
    PullRequestUnknown,
}

impl LandError {
    /// The exit code it leads to.
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::PullRequestLeftOut | Self::Red { .. } => Exit::SomeFailed,
            Self::NotAtGithub { .. } => Exit::Config,
            Self::NoToken { .. } => Exit::Denied,
            Self::PullRequestUnknown => Exit::Waiting,
            Self::NoBranch { .. }
            | Self::NothingInCommon { .. }
            | Self::NoBranchHere
            | Self::Uncommitted { .. }
            | Self::InTheWay { .. }
            | Self::Conflicts { .. }
            | Self::NotInARow { .. }
            | Self::NoName => Exit::Usage,
        }
    }

    /// Next steps, most useful first.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::NoBranch { .. } => {
                vec!["`unstuck status` shows what became of its tasks".to_owned()]
            }
            Self::NothingInCommon { .. } => {
                vec!["check out the branch that the build was started on".to_owned()]
            }
            Self::NoBranchHere => vec!["`git switch BRANCH` goes to one".to_owned()],
            Self::Uncommitted { .. } => {
                vec!["nothing was changed; commit them, or `git stash` puts them aside".to_owned()]
            }
            Self::InTheWay { .. } => {
                vec!["nothing was changed; move them away, or commit them".to_owned()]
            }
            Self::Conflicts { branch, .. } => vec![format!(
                "nothing was changed; `git merge {branch}` lets you join them by hand"
            )],
            Self::NotInARow { .. } => vec!["nothing was changed; take --merge instead".to_owned()],
            Self::NoName => {
                vec!["`git config user.name NAME` and `git config user.email ADDRESS`".to_owned()]
            }
            Self::NoToken { variable } => vec![
                format!("`export {variable}=…` with a token that may open pull requests"),
                "`github.token_env` in unstuck.toml names another variable".to_owned(),
            ],
            Self::NotAtGithub { .. } => vec![
                "set `github.repository` and `github.base_url` in unstuck.toml, or `run.remote`"
                    .to_owned(),
            ],
            Self::Red { .. } => {
                vec!["`unstuck run` with what is wrong as a task lets an agent mend it".to_owned()]
            }
            Self::PullRequestLeftOut => {
                vec!["`unstuck land --merge` brings the work into your branch".to_owned()]
            }
            Self::PullRequestUnknown => {
                vec!["look whether it is there, then say so with `unstuck inbox`".to_owned()]
            }
        }
    }
}

/// How much of a check's output says how it failed.
const LINES_MAX: usize = 20;

/// The end of an output, each line behind a bar.
fn last_lines(output: &str) -> String {
    let lines: Vec<String> =
        output.lines().filter(|line| !line.trim().is_empty()).map(plain_line).collect();
    let last = &lines[lines.len().saturating_sub(LINES_MAX)..];
    last.iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}

/// How many files are enough to know what it is about.
const PATHS_MAX: usize = 5;

/// `a, b and 3 more`.
fn paths(files: &[PathBuf]) -> String {
    let shown: Vec<String> =
        files.iter().take(PATHS_MAX).map(|file| plain_line(&file.to_string_lossy())).collect();
    match files.len().saturating_sub(PATHS_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
