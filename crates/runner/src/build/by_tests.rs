//! Restoring of files that were written by tests an agent ran itself: tracked files that checks are
//! known to change, and that neither the agent's actions nor the task's words name. These changes
//! are not part of the work.

use std::path::{Path, PathBuf};

use unstuck_core::attempt::AgentAction;
use unstuck_core::engine::Start;
use unstuck_core::fault::Fault;
use unstuck_world::workspace::Workspace;

use super::check::join_path_names;
use super::follow::ACTIONS_MAX;
use super::world::BuildContext;
use crate::effects::EffectRequest;

impl BuildContext {
    /// Restores the files that an agent's own test runs wrote.
    pub(super) async fn restore_test_written_files(
        &self,
        order: &EffectRequest,
        start: Start,
        actions: &[AgentAction],
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        // In a worktree that is not new, an earlier attempt may have changed the files on purpose.
        let is_new = matches!(start, Start::Fresh | Start::FromBase | Start::NewWorktree);
        let by_checks = workspace.read_changed_by_checks()?;
        if !is_new || by_checks.is_empty() || actions.len() >= ACTIONS_MAX {
            return Ok(());
        }
        let is_named = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            actions.iter().any(|action| action.input.contains(&*name))
                || order.task.title.contains(&*name)
                || order.task.goal.contains(&*name)
        };
        let changes = workspace.list_changes().await?.into_iter().map(|change| change.path);
        let written: Vec<PathBuf> =
            changes.filter(|path| by_checks.contains(path) && !is_named(path)).collect();
        if written.is_empty() {
            return Ok(());
        }
        workspace.revert_paths(&written, order.effect.run, self.clock.now()).await?;
        let said =
            format!("I put back what only the tests have changed: {}.", join_path_names(&written));
        self.send_remark(order, &said).await;
        Ok(())
    }
}
