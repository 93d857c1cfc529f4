//! The submodules of a worktree: checked out before any command runs in it, and never part of the
//! work.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use unstuck_core::fault::Fault;
use unstuck_core::text::{VALUE_CHARS_MAX, quote_words};

use super::elsewhere::misplaced_work_fault;
use super::private::write_new_file;
use super::project::missing_fault;
use super::state::io_fault;
use super::workspace::Workspace;
use crate::git::status::StatusEntry;
use crate::git::{Git, Oid, Submodule, find_local_submodules};

impl Workspace {
    /// Checks out the submodules of `base` in the worktree: from the operator's own copies if there
    /// are any, else from the address in the operator's settings or checkout. A submodule that only
    /// an agent names stays empty. The index of `git` holds the base.
    pub(super) async fn ensure_submodules(&self, git: &Git, base: &Oid) -> Result<(), Fault> {
        if self.in_place || !self.directory.join(".gitmodules").is_file() {
            return Ok(());
        }
        let submodules = self.git.list_submodules(base.as_str()).await?;
        if submodules.is_empty() {
            return Ok(());
        }
        let addresses = self.project.git.read_submodule_addresses().await?;
        let mut sources = find_local_submodules(&self.project.layout.common_dir);
        for submodule in &submodules {
            // Old versions of git keep the repository in the submodule's own folder.
            let folder = self.project.checkout.join(&submodule.path);
            if sources.iter().all(|(name, _)| *name != submodule.name)
                && folder.join(".git").is_dir()
            {
                sources.push((submodule.name.clone(), folder));
            }
        }
        let is_known = |one: &Submodule| {
            addresses.contains_key(&one.name) || sources.iter().any(|(name, _)| *name == one.name)
        };
        let submodules: Vec<Submodule> = submodules.into_iter().filter(is_known).collect();
        self.link_submodules().await?;
        let local = sources.iter().map(|(name, at)| (name.clone(), at.display().to_string()));
        let local: BTreeMap<String, String> = addresses.clone().into_iter().chain(local).collect();
        if git.update_submodules(&submodules, &local).await.is_ok() {
            return Ok(());
        }
        // The operator's copies may be older than the commit.
        git.update_submodules(&submodules, &addresses).await.map_err(|fault| {
            let names: Vec<&str> = submodules.iter().map(|one| one.path.as_str()).collect();
            let message = format!(
                "a worktree cannot have the submodules {}: {}",
                names.join(", "),
                fault.message
            );
            missing_fault(
                message,
                "`git submodule update --init --recursive` in the project's folder",
            )
            .with_cause(fault)
        })
    }

    /// Returns the submodules that the supervisor has put into the worktree, with a git client for
    /// each that uses the supervisor's git folder, regardless of the agent's changes to its `.git`.
    async fn list_own_submodules(&self) -> Result<Vec<(PathBuf, Git)>, Fault> {
        let mut found = Vec::new();
        for (_, folder) in find_local_submodules(&self.git_dir) {
            let git = self.git.for_worktree(&self.directory, &folder, &folder);
            let Some(place) = git.read_setting("core.worktree").await? else { continue };
            // The path that git wrote leads from its folder to the worktree, through no link.
            let Ok(inside) = normalize_path(&folder.join(place))
                .strip_prefix(&self.directory)
                .map(Path::to_owned)
            else {
                continue;
            };
            if is_plain_folder(&self.directory, &inside) {
                let git = self.git.for_worktree(self.directory.join(&inside), &folder, &folder);
                found.push((inside, git));
            }
        }
        Ok(found)
    }

    /// Makes each submodule's `.git` name the supervisor's folder again.
    async fn link_submodules(&self) -> Result<(), Fault> {
        for (path, git) in self.list_own_submodules().await? {
            let Some(folder) = git.git_dir() else { continue };
            let link = self.directory.join(path).join(".git");
            let wanted = [b"gitdir: ", folder.as_os_str().as_encoded_bytes(), b"\n"].concat();
            write_new_file(&link, &wanted).map_err(|error| io_fault(&link, &error))?;
        }
        Ok(())
    }

    /// Returns the fault of an agent that changed files within submodules, which no commit of this
    /// repository can hold.
    pub(super) async fn find_work_in_submodules(&self) -> Result<Option<Fault>, Fault> {
        if !self.directory.join(".gitmodules").is_file() {
            return Ok(None);
        }
        let mut changed = Vec::new();
        for (path, git) in self.list_own_submodules().await? {
            let is_change = |entry: &StatusEntry| {
                matches!(entry, StatusEntry::Changed(_) | StatusEntry::Untracked { .. })
            };
            if git.status().await?.iter().any(is_change) {
                changed.push(path.display().to_string());
            }
        }
        let changed = changed.join(", ");
        if changed.is_empty() {
            return Ok(None);
        }
        let message = format!("your work is in the submodule {changed}, which is not committed");
        let output = format!(
            "Files in {changed} were changed. That is a submodule, a repository of its own, and what \
             is changed in it is not part of the commit: Unstuck commits nothing in a submodule. Undo it \
             there, and solve the task with files of this repository. If it can only be done in the \
             submodule, say so and stop."
        );
        let name = quote_words(&changed, VALUE_CHARS_MAX).unwrap_or_default();
        let cause = format!(
            "The work is in the submodule {name}, a repository of its own, and I commit nothing in a \
             submodule. Please make that change in its own repository, or say how to do it in this one."
        );
        Ok(Some(misplaced_work_fault(message, output).with_cause(cause)))
    }
}

/// Removes `..` from a path, which git writes to go up from a folder.
pub(super) fn normalize_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// Returns whether `path` below `root` is a folder that is reached through no link.
fn is_plain_folder(root: &Path, path: &Path) -> bool {
    let mut at = root.to_owned();
    path.iter().all(|part| {
        at.push(part);
        fs::symlink_metadata(&at).is_ok_and(|found| found.is_dir())
    })
}
