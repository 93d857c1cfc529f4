//! Check marks in the task files and plans of a build. They are Unstuck's own: an item is ticked in the
//! operator's file when its task is done, so marks of an agent are put back before its work is judged.
//! Marks in the file of its own task stay beside other work; alone they are no work.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;
use unstuck_core::plan::file::{differ_only_in_marks, restore_marks};
use unstuck_world::workspace::{ChangeKind, Workspace, WorktreeChange};

use super::context::BuildContext;
use super::scope_check::join_path_names;
use crate::effects::EffectRequest;

/// The text of a task file in the base and in the worktree.
struct TaskFileVersions {
    base: String,
    text: String,
}

impl BuildContext {
    /// Puts back the check marks that an agent changed in the files of the build's tasks; other edits of
    /// these files stay.
    pub(super) async fn restore_task_marks(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let changes = workspace.list_changes().await?;
        let files = self.list_marked_files(order, changes.len() > 1).await;
        let is_meant = |change: &&WorktreeChange| {
            change.kind == ChangeKind::Modified && files.contains(&change.path)
        };
        let mut whole = Vec::new();
        let mut restored = Vec::new();
        for WorktreeChange { path, .. } in changes.iter().filter(is_meant) {
            let Some(versions) = read_versions(workspace, path).await? else { continue };
            if differ_only_in_marks(&versions.base, &versions.text) {
                whole.push(path.clone());
            } else if write_restored(workspace, path, &versions)? {
                restored.push(path.clone());
            }
        }
        if !whole.is_empty() {
            workspace.revert_paths(&whole, order.effect.run, self.clock.now()).await?;
            restored.append(&mut whole);
        }
        if !restored.is_empty() {
            let named = join_path_names(&restored);
            let text = format!("I put back the check marks that the agent changed in {named}.");
            self.send_remark(order, &text).await;
        }
        Ok(())
    }

    /// Returns the files of the build's tasks whose marks are put back: all, or all but the file of this
    /// task alone if it has done other work.
    async fn list_marked_files(
        &self,
        order: &EffectRequest,
        is_working: bool,
    ) -> BTreeSet<PathBuf> {
        let own = order.task.file.clone().map(PathBuf::from);
        let tasks = self.store.load_build_tasks(&self.project_name, order.build).await;
        let tasks = tasks.unwrap_or_else(|error| {
            tracing::warn!(%error, "the files of the other tasks are not known");
            Vec::new()
        });
        let others = tasks.iter().filter(|task| task.id != order.effect.task);
        let files = others.filter_map(|task| task.spec.file.clone()).map(PathBuf::from);
        let folder = self.settings.project.folder();
        let files = files.chain(own.filter(|_| !is_working));
        files.map(|file| folder.join(file)).collect()
    }
}

/// Returns `None` if a version is missing or no text.
async fn read_versions(
    workspace: &Workspace,
    path: &Path,
) -> Result<Option<TaskFileVersions>, Fault> {
    let base = workspace.read_base_file(path).await?;
    let base = base.and_then(|bytes| String::from_utf8(bytes).ok());
    let text = match fs::read_to_string(workspace.directory().join(path)) {
        Ok(text) => Some(text),
        Err(error) => {
            if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) {
                tracing::warn!(%error, path = %path.display(), "a task file cannot be read");
            }
            None
        }
    };
    Ok(base.zip(text).map(|(base, text)| TaskFileVersions { base, text }))
}

/// Writes the text with the marks of the base. Returns whether that changed it.
fn write_restored(
    workspace: &Workspace,
    path: &Path,
    versions: &TaskFileVersions,
) -> Result<bool, Fault> {
    let restored = restore_marks(&versions.base, &versions.text);
    if restored == versions.text {
        return Ok(false);
    }
    workspace.rewrite_file(path, restored.as_bytes())?;
    Ok(true)
}
