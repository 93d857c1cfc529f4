//! Commands that the operator configured: they run under a guard and with a timeout. Setup commands
//! run once when a worktree is new, and again before a check when a manifest or lock file changed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unstuck_core::fault::Fault;

use super::agent_files::digest_path;
use super::ecosystem::is_manifest;
use super::footprint::CommandAuthor;
use super::workspace::Workspace;
use crate::git::{GitAction, REMOVED, split_paths};
use crate::process::{GuardCommand, Launch, ProcessResult, Wall, derive_fault};

/// The conditions under which configured commands run.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The program that becomes the guard process.
    pub guard: GuardCommand,
    /// The lock file of the run; its directory exists. One command holds it at a time.
    pub lock: PathBuf,
    /// `true` if commands inherit the supervisor's environment. Otherwise they have only
    /// `environment`.
    pub inherits_environment: bool,
    /// Changes to the environment: a value, or `None` for a variable that is removed.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Timeout of one command.
    pub timeout: Duration,
    /// The sandbox of commands; from a workspace, the settings' additions to its own sandbox.
    pub wall: Wall,
}

impl Shell {
    /// Runs a shell command line in `directory`, and returns when none of its processes is left.
    pub async fn run(&self, directory: &Path, line: &str) -> Result<ProcessResult, Fault> {
        self.run_program(directory, "sh", &["-c".into(), line.into()], &[]).await
    }

    /// Returns the value of an environment variable as the commands see it.
    pub fn find_variable(&self, name: &str) -> Option<OsString> {
        let stated = self.environment.iter().rev().find(|(known, _)| known == name);
        match stated {
            Some((_, value)) => value.clone(),
            None if self.inherits_environment => std::env::var_os(name),
            None => None,
        }
    }

    pub(super) async fn run_program(
        &self,
        directory: &Path,
        program: impl Into<OsString>,
        arguments: &[OsString],
        environment: &[(OsString, Option<OsString>)],
    ) -> Result<ProcessResult, Fault> {
        let mut launch = Launch::new(self.guard.clone(), &self.lock, directory, program);
        launch.arguments = arguments.to_vec();
        launch.inherits_environment = self.inherits_environment;
        // A hook may have started this process, with variables that are about another repository.
        let removed = REMOVED.map(|name| (OsString::from(name), None));
        launch.environment = [&removed, &self.environment[..], environment].concat();
        launch.wall = self.wall.clone();
        launch.deadlines.total = Some(self.timeout);
        Ok(launch.start().await?.wait().await)
    }
}

/// Name of the state file with the setup commands that were run in the worktree.
pub(super) const SETUP: &str = "setup";
/// Name of the state file with the digest of the manifests after that setup.
const SET_UP_FOR: &str = "setup-for";

impl Workspace {
    /// Runs the setup commands, once per worktree and list of commands.
    pub(super) async fn run_setup_once(
        &self,
        commands: &[String],
        shell: &Shell,
    ) -> Result<(), Fault> {
        let list = commands.join("\n");
        if commands.is_empty()
            || self.state.read_file(SETUP)?.is_some_and(|done| done == list.as_bytes())
        {
            return Ok(());
        }
        self.set_mark().await?;
        let ran = self.run_setup_commands(commands, shell).await;
        // The leftovers of a failed setup belong to setup as well.
        self.settle_mark(CommandAuthor::Setup).await?;
        ran?;
        self.note_setup_manifests().await?;
        self.state.write_file(SETUP, list.as_bytes()).map(drop)
    }

    /// Runs the setup commands again if the manifests changed since they last ran, and returns
    /// whether the work has changed them. A tracked lock file that this rewrites is then part of
    /// the work, where `may_change` allows it. Where the worktree only went back to its base, the
    /// lock file is setup's, as it was the first time.
    pub async fn repeat_setup(
        &self,
        commands: &[String],
        may_change: impl Fn(&Path) -> bool,
        shell: &Shell,
    ) -> Result<bool, Fault> {
        if commands.is_empty()
            || self.state.read_file(SET_UP_FOR)? == Some(self.digest_manifests().await?)
        {
            return Ok(false);
        }
        let is_work = self.list_changes().await?.iter().any(|change| is_manifest(&change.path));
        let before = self.read_footprint()?;
        self.set_mark().await?;
        let ran = self.run_setup_commands(commands, shell).await;
        self.settle_mark(CommandAuthor::Setup).await?;
        if is_work {
            self.count_locks_as_work(&before, may_change)?;
        }
        self.note_ignored_of_setup().await?;
        ran?;
        self.note_setup_manifests().await?;
        Ok(is_work)
    }

    async fn run_setup_commands(&self, commands: &[String], shell: &Shell) -> Result<(), Fault> {
        let shell = self.confine_shell(shell);
        let folder = self.project_folder();
        for (n, command) in commands.iter().enumerate() {
            let ended = shell.run(&folder, command).await?;
            if let Some(fault) = derive_fault(&ended, &format!("setup#{}", n + 1), command) {
                return Err(explain_denied_path(fault, &shell.wall, &folder));
            }
        }
        Ok(())
    }

    async fn note_setup_manifests(&self) -> Result<(), Fault> {
        self.state.write_file(SET_UP_FOR, &self.digest_manifests().await?).map(drop)
    }

    /// Returns a digest of the tracked and changed manifests.
    async fn digest_manifests(&self) -> Result<Vec<u8>, Fault> {
        let done = self
            .git_with_base_index()
            .call(GitAction::Status)
            .args(["ls-files", "-z"])
            .run()
            .await?;
        let tracked = split_paths(&done.stdout);
        let changed = self.list_changes().await?.into_iter().map(|change| change.path);
        let all: BTreeSet<PathBuf> =
            tracked.chain(changed).filter(|path| is_manifest(path)).collect();
        let mut hasher = blake3::Hasher::new();
        for path in all {
            hasher.update(path.as_os_str().as_bytes());
            hasher.update(digest_path(&self.directory.join(&path)).as_bytes());
        }
        Ok(hasher.finalize().to_hex().as_bytes().to_vec())
    }
}

/// Adds the path that the sandbox denied to a command to the command's fault, as the cause of its end.
fn explain_denied_path(mut fault: Fault, wall: &Wall, directory: &Path) -> Fault {
    let denied = wall.find_denied(&fault.message, directory).filter(|denied| !denied.warned);
    let Some(denied) = denied else { return fault };
    fault.message = format!("{}\n[{}]", fault.message.trim_end(), denied.render_sentence());
    fault.with_cause(denied.describe_stop())
}
