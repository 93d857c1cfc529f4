//! The setup commands of a worktree: run once when it is new, and again before a check when a
//! manifest or lock file changed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::footprint::{CommandAuthor, digest_path};
use super::manifests::is_manifest;
use super::shell::Shell;
use super::workspace::Workspace;
use crate::git::GitAction;
use crate::process::derive_fault;

/// Name of the state file with the setup commands that were run in the worktree.
pub(super) const SETUP: &str = "setup";
/// Name of the state file with the digest of the manifests after that setup.
pub(super) const SET_UP_FOR: &str = "setup-for";

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
        for (n, command) in commands.iter().enumerate() {
            let ended = shell.run(&self.directory, command).await?;
            if let Some(fault) = derive_fault(&ended, &format!("setup#{}", n + 1), command) {
                return Err(fault);
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
        let tracked = done.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let tracked = tracked.map(|path| PathBuf::from(OsStr::from_bytes(path)));
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
