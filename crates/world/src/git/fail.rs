//! Maps a failed git command to a fault: by the purpose of the command, and by facts.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use unstuck_core::fault::text_rules::{self, RuleSet};
use unstuck_core::fault::{
    Auth, Code, Crash, Fault, GitOperation, Internal, Kind, Missing, Timeout, Tool,
};
use unstuck_core::signature::Signature;

use crate::process::OutputExcerpt;

/// Beginnings of lines in which git or a remote reports progress.
const PROGRESS: [&str; 9] = [
    "Enumerating objects", "Counting objects", "Delta compression using", "Compressing objects",
    "Writing objects", "Total ", "Resolving deltas", "Unpacking objects", "Checking connectivity",
];

/// The purpose of a git command, which decides the error code of its failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitAction {
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

#[derive(Debug)]
pub(super) enum GitFailure {
    Exited {
        exit: i32,
        stderr: OutputExcerpt,
        /// A lock file of git that exists now and explains the failure.
        held_lock: Option<PathBuf>,
    },
    Signalled(i32),
    TimedOut(Duration),
    /// Neither git nor the remote said anything for this long.
    Silent(Duration),
    TooMuch,
    Io(io::Error),
}

impl GitAction {
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

    pub(crate) fn fault_source(self) -> String {
        format!("git.{}", self.name())
    }

    pub(super) const fn is_read_only(self) -> bool {
        matches!(self, Self::Look | Self::Status | Self::AskRemote)
    }

    fn operation_context(self, exit: Option<i32>, reference: Option<&str>) -> GitOperation {
        GitOperation {
            operation: self.name().to_owned(),
            exit,
            reference: reference.map(str::to_owned),
            remote: None,
        }
    }

    /// Returns the fault of this operation if no more specific cause is known.
    pub(crate) fn to_fault(
        self,
        message: impl Into<String>,
        exit: Option<i32>,
        reference: Option<&str>,
    ) -> Fault {
        let context = self.operation_context(exit, reference);
        let source = self.fault_source();
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

    pub(super) fn fault_from_failure(
        self,
        program: &OsStr,
        how: GitFailure,
        reference: Option<&str>,
    ) -> Fault {
        match how {
            GitFailure::Exited { exit, stderr, held_lock: Some(lock) } => {
                let message = format!("{} is there: {}", lock.display(), self.read_stderr(&stderr));
                let kind = Kind::GitLocked(self.operation_context(Some(exit), reference));
                Fault::new(kind, self.fault_source(), message)
            }
            GitFailure::Exited { exit, stderr, held_lock: None } => {
                self.exit_fault(exit, self.read_stderr(&stderr), reference)
            }
            GitFailure::Signalled(signal) => {
                let crash = Crash { exit: None, signal: Some(signal) };
                let message = format!("git was ended by signal {signal}");
                Fault::tool_crash(self.fault_source(), message, crash)
            }
            GitFailure::TimedOut(limit) => {
                self.timeout_fault(limit, format!("git took longer than {} s", limit.as_secs()))
            }
            GitFailure::Silent(limit) => {
                let seconds = limit.as_secs();
                self.timeout_fault(limit, format!("the remote did not answer for {seconds} s"))
            }
            GitFailure::TooMuch => self.to_fault("git had too much to say", None, reference),
            GitFailure::Io(error) => self.spawn_fault(program, &error),
        }
    }

    fn timeout_fault(self, limit: Duration, message: String) -> Fault {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let context = Timeout { operation: self.fault_source(), limit_ms };
        Fault::operation_timeout(self.fault_source(), message, context)
    }

    /// Returns the fault for a git that cannot be started. Git is no program of the agent's: if it
    /// is missing, the operator has to install it.
    fn spawn_fault(self, program: &OsStr, error: &io::Error) -> Fault {
        let program = program.display();
        match error.kind() {
            io::ErrorKind::NotFound => {
                let message = format!("{program}: there is no such program");
                let what = "git".to_owned();
                Fault::precondition_missing(self.fault_source(), message, Missing { what })
            }
            io::ErrorKind::PermissionDenied => {
                let tool = Tool { command: Some("git".to_owned()), ..Tool::default() };
                let message = format!("{program} may not be executed");
                Fault::tool_access_denied(self.fault_source(), message, tool)
            }
            _ => {
                let message = format!("{program} could not be run");
                let component = "git".to_owned();
                Fault::internal_error(self.fault_source(), message, Internal { component })
            }
        }
        .with_cause(error)
    }

    fn read_stderr(self, stderr: &OutputExcerpt) -> String {
        let bytes = stderr.to_bytes();
        let said = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if self == Self::Push { strip_progress(&said) } else { said }
    }

    fn exit_fault(self, exit: i32, said: String, reference: Option<&str>) -> Fault {
        if let Some((code, rule)) = text_rules::classify_with(said.as_bytes(), RuleSet::Everything)
            && let Some(kind) = self.kind_from_code(code, exit, reference)
        {
            let signature = Signature::from_output(code, &self.fault_source(), &said, Some(exit));
            return Fault::new(kind, self.fault_source(), said).with_rule(rule, signature);
        }
        self.to_fault(said, Some(exit), reference)
    }

    /// Returns the fault kind of a cause that git reports in prose only, if it applies to this
    /// operation.
    fn kind_from_code(self, code: Code, exit: i32, reference: Option<&str>) -> Option<Kind> {
        let account = || Auth { account: "the git remote".to_owned(), ..Auth::default() };
        let git = || Tool { command: Some("git".to_owned()), exit: Some(exit), ..Tool::default() };
        let remote = matches!(self, Self::Push | Self::AskRemote);
        Some(match code {
            Code::AuthInvalid if remote => Kind::AuthInvalid(account()),
            Code::AuthExpired if remote => Kind::AuthExpired(account()),
            Code::AuthMissing if remote => Kind::AuthMissing(account()),
            Code::GitLocked => Kind::GitLocked(self.operation_context(Some(exit), reference)),
            Code::EnvDiskFull => Kind::EnvDiskFull(git()),
            // A repository of another user, or files that may not be written.
            Code::ToolAccessDenied if !remote => Kind::ToolAccessDenied(git()),
            _ => return None,
        })
    }
}

/// Removes progress reports from the output of a push.
fn strip_progress(said: &str) -> String {
    // A carriage return overwrites the line, as on a terminal.
    let lines = said.lines().map(|line| line.rsplit('\r').find(|part| !part.is_empty()));
    let told = lines.flatten().filter(|line| {
        let line = line.strip_prefix("remote: ").unwrap_or(line);
        !PROGRESS.iter().any(|begins| line.starts_with(begins))
    });
    told.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_a_push_was_is_left_out_of_what_it_said() {
        let said = "Enumerating objects: 3, done.\nCounting objects:  33% (1/3)\rCounting objects: \
                    100% (3/3), done.\nWriting objects: 100% (3/3), 200 bytes, done.\nTotal 3 \
                    (delta 0)\nremote: Resolving deltas: 100% (1/1)\rremote: main is protected\n\
                    remote: \n!\ta:b\t[remote rejected] (hook declined)\nDone\n";
        let told =
            "remote: main is protected\nremote: \n!\ta:b\t[remote rejected] (hook declined)\nDone";
        assert_eq!(strip_progress(said), told);
    }
}
