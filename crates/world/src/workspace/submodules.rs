//! Submodules of a worktree: there before anything runs in it, and never the place of the work.

use unstuck_core::fault::{Fault, Validation};

use super::project::missing;
use super::workspace::Workspace;
use crate::git::status::Entry;
use crate::git::{Oid, local_submodules};

impl Workspace {
    /// Makes the worktree hold the submodules that `base` has: from the person's own copies where
    /// there are any, else from where they come from.
    pub(super) async fn have_submodules(&self, base: &Oid) -> Result<(), Fault> {
        if self.in_place || !self.directory.join(".gitmodules").is_file() {
            return Ok(());
        }
        let submodules = self.git.submodules(base.as_str()).await?;
        if submodules.is_empty() {
            return Ok(());
        }
        let mut sources = local_submodules(&self.project.layout.common_dir);
        for submodule in &submodules {
            // One that keeps its repository in its own folder, as old versions of git did.
            let folder = self.project.root.join(&submodule.path);
            if sources.iter().all(|(name, _)| *name != submodule.name)
                && folder.join(".git").is_dir()
            {
                sources.push((submodule.name.clone(), folder));
            }
        }
        if self.git.update_submodules(&submodules, &sources).await.is_ok() {
            return Ok(());
        }
        // The person's copies may be older than the commit.
        self.git.update_submodules(&submodules, &[]).await.map_err(|fault| {
            let names: Vec<&str> = submodules.iter().map(|one| one.path.as_str()).collect();
            let message = format!(
                "a worktree cannot have the submodules {}: {}",
                names.join(", "),
                fault.message
            );
            missing(message, "`git submodule update --init --recursive` in the project's folder")
                .caused_by(fault)
        })
    }

    /// Files that the agent changed within submodules, which no commit of this repository can hold.
    pub(super) async fn find_work_in_submodules(&self) -> Result<Option<Fault>, Fault> {
        if !self.directory.join(".gitmodules").is_file() {
            return Ok(None);
        }
        let entries = self.ours().status().await?;
        let changed = entries.iter().filter_map(|entry| match entry {
            Entry::Changed(changed) if changed.submodule.is_some_and(|inside| inside.modified) => {
                Some(changed.path.display().to_string())
            }
            _ => None,
        });
        let changed = changed.collect::<Vec<_>>().join(", ");
        if changed.is_empty() {
            return Ok(None);
        }
        let message = format!("your work is in the submodule {changed}, which is not committed");
        let output = format!(
            "Files in {changed} were changed. That is a submodule, a repository of its own, and what \
             is changed in it is not part of the commit. Undo it there, and solve the task with files \
             of this repository."
        );
        let context = Validation { command: "git status".to_owned(), exit: None, output };
        Ok(Some(Fault::validation_pre_commit("workspace:elsewhere", message, context)))
    }
}
