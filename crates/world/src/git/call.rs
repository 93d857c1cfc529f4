//! A run of the git command, with a fixed environment, bounded output and a timeout.
//!
//! Dropping the future ends git and its process group.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};
use tokio::time::timeout;
use unstuck_core::fault::Fault;

use super::fail::{GitAction, GitFailure};
use super::git::{Git, GitProcessGroup};
use crate::process::{Deadline, GuardCommand, Launch, OutputExcerpt, ProcessEnd, StartFailure};

/// Maximum length of git's output, in bytes: more than any expected answer, as a patch may be
/// large.
const STDOUT_BYTES_MAX: u64 = 512 * 1_024 * 1_024;
/// Maximum length of git's error output that is kept, in bytes.
const STDERR_BYTES_MAX: usize = 64 * 1_024;
/// Maximum time to read git's streams after its end: a helper that git leaves behind may hold them
/// open, and git's own output is in them long before.
const STREAM_END_MAX: Duration = Duration::from_secs(2);

/// Maximum silence of a remote. A push reports progress all the time; a query has a short answer.
pub(super) const SILENCE_MAX: Duration = Duration::from_mins(1);

/// Variables that would redirect git or change its output if they were inherited.
pub(crate) const REMOVED: [&str; 21] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Settings of every command: nothing that a file could have planted is run, no color is used, and
/// no background process is started.
const SETTINGS: [&str; 10] = [
    "core.fsmonitor=false",
    // The index is copied, and a split one would be copied only in part.
    "core.splitIndex=false", "core.hooksPath=/dev/null", "core.quotePath=false",
    "core.trustctime=true", "core.checkStat=default", "diff.external=", "gc.auto=0",
    "maintenance.auto=false", "submodule.recurse=false",
];

/// A git command that is being built.
#[derive(Debug)]
pub(crate) struct GitCall<'git> {
    git: &'git Git,
    operation: GitAction,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    input: Vec<u8>,
    reference: Option<String>,
    /// `true` if paths are taken literally, which not every git command supports.
    literal: bool,
}

/// The result of a git command that ended with an expected exit code.
#[derive(Debug)]
pub(crate) struct GitOutput {
    pub(crate) status: i32,
    pub(crate) stdout: Vec<u8>,
}

impl Git {
    pub(crate) fn call(&self, operation: GitAction) -> GitCall<'_> {
        GitCall {
            git: self,
            operation,
            arguments: Vec::new(),
            environment: Vec::new(),
            input: Vec::new(),
            reference: None,
            literal: true,
        }
    }
}

impl GitCall<'_> {
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Leaves out `--literal-pathspecs`, for a command that refuses it.
    pub(crate) fn with_plain_paths(mut self) -> Self {
        self.literal = false;
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Sets the branch or commit that the command is about, for the fault and for the search for a
    /// lock file.
    pub(crate) fn with_reference(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Runs the command; any exit code but 0 is a fault.
    pub(crate) async fn run(self) -> Result<GitOutput, Fault> {
        self.run_expecting(&[0]).await
    }

    /// Runs the command; any exit code that is not expected is a fault.
    pub(crate) async fn run_expecting(self, expected: &[i32]) -> Result<GitOutput, Fault> {
        let ended = self.run_process().await;
        let (status, stdout, stderr) = ended.map_err(|how| self.to_fault(how))?;
        match (status.code(), status.signal()) {
            (Some(code), _) if expected.contains(&code) => {
                if stdout.len() as u64 >= STDOUT_BYTES_MAX {
                    return Err(self.to_fault(GitFailure::TooMuch));
                }
                Ok(GitOutput { status: code, stdout })
            }
            (Some(exit), _) => {
                let held_lock = self.git.find_held_lock(self.reference.as_deref());
                Err(self.to_fault(GitFailure::Exited { exit, stderr, held_lock }))
            }
            (None, signal) => Err(self.to_fault(GitFailure::Signalled(signal.unwrap_or_default()))),
        }
    }

    fn to_fault(&self, how: GitFailure) -> Fault {
        self.operation.fault_from_failure(&self.git.program, how, self.reference.as_deref())
    }

    async fn run_process(&self) -> Result<(ExitStatus, Vec<u8>, OutputExcerpt), GitFailure> {
        if let Some((guard, lock)) = &self.git.kept_by {
            return self.run_guarded(guard.clone(), lock).await;
        }
        let patience = self.git.patience;
        match timeout(patience, self.run_unguarded()).await {
            Ok(ended) => ended.map_err(GitFailure::Io),
            Err(_) => Err(GitFailure::TimedOut(patience)),
        }
    }

    async fn run_unguarded(&self) -> io::Result<(ExitStatus, Vec<u8>, OutputExcerpt)> {
        let mut child = GitProcessGroup(self.build_command().spawn()?);
        let (stdin, stdout, stderr) =
            (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
        let mut out = Vec::new();
        let mut complaints = OutputExcerpt::with_limit(STDERR_BYTES_MAX);
        let status = {
            let streams = async {
                tokio::join!(
                    write_stdin(stdin, &self.input),
                    read_stdout(stdout, &mut out),
                    read_stderr(stderr, &mut complaints)
                );
            };
            tokio::pin!(streams);
            let mut flowing = true;
            let status = loop {
                tokio::select! {
                    status = child.0.wait() => break status?,
                    () = &mut streams, if flowing => flowing = false,
                }
            };
            if flowing {
                let _ = timeout(STREAM_END_MAX, streams).await;
            }
            status
        };
        Ok((status, out, complaints))
    }

    /// Runs the command under a guard; for commands without input whose output is short.
    async fn run_guarded(
        &self,
        guard: GuardCommand,
        lock: &Path,
    ) -> Result<(ExitStatus, Vec<u8>, OutputExcerpt), GitFailure> {
        let directory = find_existing_ancestor(&self.git.directory);
        let mut launch = Launch::new(guard, lock, directory, &self.git.program);
        launch.arguments = self.build_arguments();
        let named = |(name, value): (&'static str, Option<OsString>)| (name.into(), value);
        launch.environment = self.build_environment().into_iter().map(named).collect();
        launch.deadlines.total = Some(self.git.patience);
        launch.deadlines.idle = (self.operation == GitAction::Push).then_some(SILENCE_MAX);
        let started = launch.start().await;
        let process = started.map_err(|fault| GitFailure::Io(io::Error::other(fault)))?;
        let ended = process.wait().await;
        let status = match ended.how {
            ProcessEnd::Exited(code) => ExitStatus::from_raw(code << 8),
            ProcessEnd::Signalled(signal) => ExitStatus::from_raw(signal),
            ProcessEnd::TimedOut { which: Deadline::Total, limit } => {
                return Err(GitFailure::TimedOut(limit));
            }
            ProcessEnd::TimedOut { limit, .. } => return Err(GitFailure::Silent(limit)),
            ProcessEnd::NotStarted(StartFailure::NotFound) => {
                return Err(GitFailure::Io(io::ErrorKind::NotFound.into()));
            }
            how => {
                let said = format!("git was not seen to its end: {how:?}");
                return Err(GitFailure::Io(io::Error::other(said)));
            }
        };
        Ok((status, ended.output.to_bytes(), ended.output))
    }

    /// Returns git's arguments, after the settings of every command.
    fn build_arguments(&self) -> Vec<OsString> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let literal = self.literal.then_some("--literal-pathspecs");
        let own = settings.chain(literal).chain(["--no-pager"]).map(OsString::from);
        own.chain(self.arguments.iter().cloned()).collect()
    }

    /// Returns the changes to the inherited environment; `None` removes a variable.
    fn build_environment(&self) -> Vec<(&'static str, Option<OsString>)> {
        let mut changes: Vec<_> = REMOVED.iter().map(|name| (*name, None)).collect();
        let mut set = |name, value: &OsStr| changes.push((name, Some(value.to_owned())));
        set("LC_ALL", "C".as_ref());
        set("GIT_TERMINAL_PROMPT", "0".as_ref());
        set("GIT_PAGER", "cat".as_ref());
        if self.git.index.is_none() && self.operation.is_read_only() {
            set("GIT_OPTIONAL_LOCKS", "0".as_ref());
        }
        if let Some(folders) = &self.git.folders {
            set("GIT_DIR", folders.own.as_ref());
            set("GIT_COMMON_DIR", folders.common.as_ref());
            if folders.at_root {
                set("GIT_WORK_TREE", self.git.directory.as_ref());
            }
        }
        if let Some(index) = &self.git.index {
            set("GIT_INDEX_FILE", index.as_ref());
        }
        for (name, value) in &self.environment {
            set(name, value);
        }
        changes
    }

    pub(super) fn build_command(&self) -> Command {
        let mut command = Command::new(&self.git.program);
        for (name, value) in self.build_environment() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(self.build_arguments());
        command
            .current_dir(find_existing_ancestor(&self.git.directory))
            .process_group(0)
            .kill_on_drop(true);
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Returns the nearest existing ancestor of a directory: starting git in a missing directory would
/// look like a missing program.
fn find_existing_ancestor(directory: &Path) -> &Path {
    directory.ancestors().find(|dir| dir.is_dir()).unwrap_or(directory)
}

/// Writes the input. Ignores errors, because git may end without having read everything.
async fn write_stdin(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
}

async fn read_stdout(stream: Option<impl AsyncRead + Unpin>, to: &mut Vec<u8>) {
    if let Some(stream) = stream {
        let _ = stream.take(STDOUT_BYTES_MAX).read_to_end(to).await;
    }
}

async fn read_stderr(stream: Option<impl AsyncRead + Unpin>, to: &mut OutputExcerpt) {
    let Some(mut stream) = stream else { return };
    let mut chunk = [0; 4_096];
    while let Ok(length @ 1..) = stream.read(&mut chunk).await {
        to.push(&chunk[..length]);
    }
}
