//! A run of the git command, with a fixed environment, bounded output and a timeout.
//!
//! Dropping the future ends git and its process group.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;
use unstuck_core::fault::Fault;

use super::fail::{Failed, Operation};
use super::git::Git;
use super::remote::SILENCE_MAX;
use crate::process::{Deadline, Guard, How, Kept, Launch, NotStarted};

/// Maximum length of git's output, in bytes: more than any expected answer, as a patch may be
/// large.
const STDOUT_BYTES_MAX: u64 = 512 * 1_024 * 1_024;
/// Maximum length of git's error output that is kept, in bytes.
const STDERR_BYTES_MAX: usize = 64 * 1_024;
/// Maximum time to read git's streams after its end: a helper that git leaves behind may hold them
/// open, and git's own output is in them long before.
const STREAM_END_MAX: Duration = Duration::from_secs(2);

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
    "core.splitIndex=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// A git command that is being built.
#[derive(Debug)]
pub(crate) struct Call<'git> {
    git: &'git Git,
    operation: Operation,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    input: Vec<u8>,
    reference: Option<String>,
    /// `true` if paths are taken literally, which not every git command supports.
    literal: bool,
}

/// The result of a git command that ended with an expected exit code.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: i32,
    pub(crate) stdout: Vec<u8>,
}

impl Git {
    pub(crate) fn call(&self, operation: Operation) -> Call<'_> {
        Call {
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

impl Call<'_> {
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
    pub(crate) fn about(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Runs the command; any exit code but 0 is a fault.
    pub(crate) async fn run(self) -> Result<Done, Fault> {
        self.run_expecting(&[0]).await
    }

    /// Runs the command; any exit code that is not expected is a fault.
    pub(crate) async fn run_expecting(self, expected: &[i32]) -> Result<Done, Fault> {
        let ended = self.perform().await;
        let (status, stdout, stderr) = ended.map_err(|how| self.failed(how))?;
        match (status.code(), status.signal()) {
            (Some(code), _) if expected.contains(&code) => {
                if stdout.len() as u64 >= STDOUT_BYTES_MAX {
                    return Err(self.failed(Failed::TooMuch));
                }
                Ok(Done { status: code, stdout })
            }
            (Some(exit), _) => Err(self.failed(Failed::Exited { exit, stderr })),
            (None, signal) => Err(self.failed(Failed::Signalled(signal.unwrap_or_default()))),
        }
    }

    fn failed(&self, how: Failed) -> Fault {
        self.operation.failed(self.git, how, self.reference.as_deref())
    }

    async fn perform(&self) -> Result<(ExitStatus, Vec<u8>, Kept), Failed> {
        if let Some((guard, lock)) = &self.git.kept_by {
            return self.perform_kept(guard.clone(), lock).await;
        }
        let patience = self.git.patience;
        match timeout(patience, self.perform_alone()).await {
            Ok(ended) => ended.map_err(Failed::Io),
            Err(_) => Err(Failed::TimedOut(patience)),
        }
    }

    async fn perform_alone(&self) -> io::Result<(ExitStatus, Vec<u8>, Kept)> {
        let mut child = Group(self.command().spawn()?);
        let (stdin, stdout, stderr) =
            (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
        let mut out = Vec::new();
        let mut complaints = Kept::within(STDERR_BYTES_MAX);
        let status = {
            let streams = async {
                tokio::join!(
                    feed(stdin, &self.input),
                    gather(stdout, &mut out),
                    keep(stderr, &mut complaints)
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
    async fn perform_kept(
        &self,
        guard: Guard,
        lock: &Path,
    ) -> Result<(ExitStatus, Vec<u8>, Kept), Failed> {
        let directory = existing(&self.git.directory);
        let mut launch = Launch::new(guard, lock, directory, &self.git.program);
        launch.arguments = self.arguments();
        let named = |(name, value): (&'static str, Option<OsString>)| (name.into(), value);
        launch.environment = self.environment().into_iter().map(named).collect();
        launch.deadlines.total = Some(self.git.patience);
        launch.deadlines.idle = (self.operation == Operation::Push).then_some(SILENCE_MAX);
        let started = launch.start().await;
        let process = started.map_err(|fault| Failed::Io(io::Error::other(fault)))?;
        let ended = process.wait().await;
        let status = match ended.how {
            How::Exited(code) => ExitStatus::from_raw(code << 8),
            How::Signalled(signal) => ExitStatus::from_raw(signal),
            How::TimedOut { which: Deadline::Total, limit } => return Err(Failed::TimedOut(limit)),
            How::TimedOut { limit, .. } => return Err(Failed::Silent(limit)),
            How::NotStarted(NotStarted::NotFound) => {
                return Err(Failed::Io(io::ErrorKind::NotFound.into()));
            }
            how => {
                let said = format!("git was not seen to its end: {how:?}");
                return Err(Failed::Io(io::Error::other(said)));
            }
        };
        Ok((status, ended.output.to_bytes(), ended.output))
    }

    /// Returns git's arguments, after the settings of every command.
    fn arguments(&self) -> Vec<OsString> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let literal = self.literal.then_some("--literal-pathspecs");
        let own = settings.chain(literal).chain(["--no-pager"]).map(OsString::from);
        own.chain(self.arguments.iter().cloned()).collect()
    }

    /// Returns the changes to the inherited environment; `None` removes a variable.
    fn environment(&self) -> Vec<(&'static str, Option<OsString>)> {
        let mut changes: Vec<_> = REMOVED.iter().map(|name| (*name, None)).collect();
        let mut set = |name, value: &OsStr| changes.push((name, Some(value.to_owned())));
        set("LC_ALL", "C".as_ref());
        set("GIT_TERMINAL_PROMPT", "0".as_ref());
        set("GIT_PAGER", "cat".as_ref());
        if self.git.index.is_none() && self.operation.only_looks() {
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

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.git.program);
        for (name, value) in self.environment() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(self.arguments());
        command.current_dir(existing(&self.git.directory)).process_group(0).kill_on_drop(true);
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Returns the nearest existing ancestor of a directory: starting git in a missing directory would
/// look like a missing program.
fn existing(directory: &Path) -> &Path {
    directory.ancestors().find(|dir| dir.is_dir()).unwrap_or(directory)
}

/// A child process whose whole group is killed on drop: git starts other programs.
#[derive(Debug)]
pub(super) struct Group(pub(super) Child);

impl Drop for Group {
    fn drop(&mut self) {
        // The id is `None` once the child was waited for.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = id {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Writes the input. Ignores errors, because git may end without having read everything.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
}

async fn gather(stream: Option<impl AsyncRead + Unpin>, to: &mut Vec<u8>) {
    if let Some(stream) = stream {
        let _ = stream.take(STDOUT_BYTES_MAX).read_to_end(to).await;
    }
}

async fn keep(stream: Option<impl AsyncRead + Unpin>, to: &mut Kept) {
    let Some(mut stream) = stream else { return };
    let mut chunk = [0; 4_096];
    while let Ok(length @ 1..) = stream.read(&mut chunk).await {
        to.push(&chunk[..length]);
    }
}
