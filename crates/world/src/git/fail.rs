//! Maps a failed git command to a fault: by the purpose of the command, and by facts.

use std::io;
use std::time::Duration;

use unstuck_core::fault::text_rules::{self, Applies};
use unstuck_core::fault::{
    Auth, Code, Crash, Fault, GitOperation, Internal, Kind, Missing, Timeout, Tool,
};
use unstuck_core::signature::Signature;

use super::git::Git;
use super::locks;
use super::remote::without_progress;
use crate::process::Kept;

/// The purpose of a git command, which decides the error code of its failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Reading refs, settings or objects.
    Look,
    /// Reading what changed.
    Status,
    /// Making or removing a worktree.
    Worktree,
    /// Saving a tree, a commit or a ref.
    Commit,
    /// Merging one change with another.
    Merge,
    /// Reverting a change, or resetting a worktree to a commit.
    Revert,
    /// Pushing commits to a remote.
    Push,
    /// Reading refs of a remote.
    AskRemote,
}

/// The way in which a command failed.
#[derive(Debug)]
pub(super) enum Failed {
    Exited {
        exit: i32,
        stderr: Kept,
    },
    Signalled(i32),
    TimedOut(Duration),
    /// Neither git nor the remote said anything for this long.
    Silent(Duration),
    TooMuch,
    Io(io::Error),
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Status => "status",
            Self::Worktree => "worktree",
            Self::Commit => "commit",
            Self::Merge => "merge",
            Self::Revert => "revert",
            Self::Push => "push",
            Self::AskRemote => "ls-remote",
        }
    }

    /// Returns the source name of its faults.
    pub(crate) fn source(self) -> String {
        format!("git.{}", self.name())
    }

    pub(super) const fn only_looks(self) -> bool {
        matches!(self, Self::Look | Self::Status | Self::AskRemote)
    }

    /// Returns the fault of this operation if no more specific cause is known.
    pub(crate) fn fault(
        self,
        message: impl Into<String>,
        exit: Option<i32>,
        reference: Option<&str>,
    ) -> Fault {
        let context = GitOperation {
            operation: self.name().to_owned(),
            exit,
            reference: reference.map(str::to_owned),
            remote: None,
        };
        let source = self.source();
        let message = message.into();
        match self {
            // No step may continue without this information, or without a worktree.
            Self::Look | Self::Status | Self::Worktree => {
                Fault::git_status_failed(source, message, context)
            }
            Self::Commit | Self::Merge => Fault::git_commit_failed(source, message, context),
            Self::Revert => Fault::git_revert_failed(source, message, context),
            Self::Push | Self::AskRemote => Fault::git_push_failed(source, message, context),
        }
    }

    pub(super) fn failed(self, git: &Git, how: Failed, reference: Option<&str>) -> Fault {
        match how {
            Failed::Exited { exit, stderr } => self.exited(git, exit, &stderr, reference),
            Failed::Signalled(signal) => {
                let crash = Crash { exit: None, signal: Some(signal) };
                let message = format!("git was ended by signal {signal}");
                Fault::tool_crash(self.source(), message, crash)
            }
            Failed::TimedOut(limit) => {
                self.timed_out(limit, format!("git took longer than {} s", limit.as_secs()))
            }
            Failed::Silent(limit) => {
                let seconds = limit.as_secs();
                self.timed_out(limit, format!("the remote did not answer for {seconds} s"))
            }
            Failed::TooMuch => self.fault("git had too much to say", None, reference),
            Failed::Io(error) => self.not_run(git, &error),
        }
    }

    fn timed_out(self, limit: Duration, message: String) -> Fault {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let context = Timeout { operation: self.source(), limit_ms };
        Fault::operation_timeout(self.source(), message, context)
    }

    /// Returns the fault for a git that cannot be started. Git is no program of the agent's: if it
    /// is missing, the operator has to install it.
    fn not_run(self, git: &Git, error: &io::Error) -> Fault {
        let program = git.program.display();
        match error.kind() {
            io::ErrorKind::NotFound => {
                let message = format!("{program}: there is no such program");
                let what = "git".to_owned();
                Fault::precondition_missing(self.source(), message, Missing { what })
            }
            io::ErrorKind::PermissionDenied => {
                let tool = Tool { command: Some("git".to_owned()), ..Tool::default() };
                let message = format!("{program} may not be executed");
                Fault::tool_access_denied(self.source(), message, tool)
            }
            _ => {
                let message = format!("{program} could not be run");
                let component = "git".to_owned();
                Fault::internal_error(self.source(), message, Internal { component })
            }
        }
        .caused_by(error)
    }

    fn exited(self, git: &Git, exit: i32, stderr: &Kept, reference: Option<&str>) -> Fault {
        let bytes = stderr.to_bytes();
        let said = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        let said = if self == Self::Push { without_progress(&said) } else { said };
        if let Some(lock) = locks::held(git, reference) {
            let message = format!("{} is there: {said}", lock.display());
            return self.locked(message, exit, reference);
        }
        match text_rules::classify(said.as_bytes(), Applies::Everything) {
            Some((code, rule)) => match self.told(code, exit, reference) {
                Some(kind) => {
                    let signature = Signature::of_output(code, &self.source(), &said, Some(exit));
                    Fault::new(kind, self.source(), said).by_rule(rule, signature)
                }
                None => self.fault(said, Some(exit), reference),
            },
            None => self.fault(said, Some(exit), reference),
        }
    }

    fn locked(self, message: String, exit: i32, reference: Option<&str>) -> Fault {
        let kind = self.told(Code::GitLocked, exit, reference);
        Fault::new(kind.unwrap_or(Kind::bare(Code::GitLocked)), self.source(), message)
    }

    /// Returns the fault kind of a cause that git reports in prose only, if it applies to this
    /// operation.
    fn told(self, code: Code, exit: i32, reference: Option<&str>) -> Option<Kind> {
        let account = || Auth { account: "the git remote".to_owned(), ..Auth::default() };
        let git = || GitOperation {
            operation: self.name().to_owned(),
            exit: Some(exit),
            reference: reference.map(str::to_owned),
            remote: None,
        };
        let remote = matches!(self, Self::Push | Self::AskRemote);
        Some(match code {
            Code::AuthInvalid if remote => Kind::AuthInvalid(account()),
            Code::AuthExpired if remote => Kind::AuthExpired(account()),
            Code::AuthMissing if remote => Kind::AuthMissing(account()),
            Code::GitLocked => Kind::GitLocked(git()),
            Code::EnvDiskFull => Kind::EnvDiskFull(Tool {
                command: Some("git".to_owned()),
                exit: Some(exit),
                host: None,
            }),
            _ => return None,
        })
    }
}
