//! The setup commands of a worktree: run once when it is new, and again before a check when a
//! manifest or lock file changed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::footprint::{Author, digest_of};
use super::manifests::is_manifest;
use super::shell::Shell;
use super::workspace::Workspace;
use crate::git::Operation;
use crate::process::verdict;

/// Name of the state file with the setup commands that were run in the worktree.
pub(super) const SETUP: &str = "setup";
/// Name of the state file with the digest of the manifests after that setup.
pub(super) const SET_UP_FOR: &str = "setup-for";

impl Workspace {
    /// Runs the setup commands, once per worktree and list of commands.
    pub(super) async fn set_up(&self, commands: &[String], shell: &Shell) -> Result<(), Fault> {
        let list = commands.join("\n");
        if commands.is_empty()
            || self.state.read(SETUP)?.is_some_and(|done| done == list.as_bytes())
        {
            return Ok(());
        }
        self.set_mark().await?;
        let ran = self.run_setup(commands, shell).await;
        // The leftovers of a failed setup belong to setup as well.
        self.settle_mark(Author::Setup).await?;
        ran?;
        self.note_set_up_for().await?;
        self.state.write(SETUP, list.as_bytes()).map(drop)
    }

    /// Runs the setup commands again if the manifests changed since they last ran, and returns
    /// whether they ran. A tracked lock file that this rewrites is part of the work, where
    /// `may_change` allows it.
    pub async fn set_up_again(
        &self,
        commands: &[String],
        may_change: impl Fn(&Path) -> bool,
        shell: &Shell,
    ) -> Result<bool, Fault> {
        if commands.is_empty() || self.state.read(SET_UP_FOR)? == Some(self.manifests().await?) {
            return Ok(false);
        }
        let before = self.footprint()?;
        self.set_mark().await?;
        let ran = self.run_setup(commands, shell).await;
        self.settle_mark(Author::Setup).await?;
        self.give_locks_to_work(&before, may_change)?;
        self.note_ignored_of_setup().await?;
        ran?;
        self.note_set_up_for().await?;
        Ok(true)
    }

    async fn run_setup(&self, commands: &[String], shell: &Shell) -> Result<(), Fault> {
        let shell = self.behind_wall(shell);
        for (n, command) in commands.iter().enumerate() {
            let ended = shell.run(&self.directory, command).await?;
            if let Some(fault) = verdict(&ended, &format!("setup#{}", n + 1), command) {
                return Err(fault);
            }
        }
        Ok(())
    }

    async fn note_set_up_for(&self) -> Result<(), Fault> {
        self.state.write(SET_UP_FOR, &self.manifests().await?).map(drop)
    }

    /// Returns a digest of the tracked and changed manifests.
    async fn manifests(&self) -> Result<Vec<u8>, Fault> {
        let done = self.ours().call(Operation::Status).args(["ls-files", "-z"]).run().await?;
        let tracked = done.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let tracked = tracked.map(|path| PathBuf::from(OsStr::from_bytes(path)));
        let changed = self.changes().await?.into_iter().map(|change| change.path);
        let all: BTreeSet<PathBuf> =
            tracked.chain(changed).filter(|path| is_manifest(path)).collect();
        let mut hasher = blake3::Hasher::new();
        for path in all {
            hasher.update(path.as_os_str().as_bytes());
            hasher.update(digest_of(&self.directory.join(&path)).as_bytes());
        }
        Ok(hasher.finalize().to_hex().as_bytes().to_vec())
    }
}
