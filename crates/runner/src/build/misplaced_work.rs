//! Work that is not where it counts: in files or on a branch that no commit covers, or in commits from before it
//! that it takes back. The agent is told; if it leaves such commits taken back, or the task asks for it, the
//! operator reads it beside the work.

use unstuck_core::fault::Fault;
use unstuck_world::git::RestoreReport;
use unstuck_world::workspace::{COMMITTED_SIZE, SetAsideFiles, Workspace, render_path_names};

use super::context::BuildContext;
use super::wording::{collect_task_words, takes_back};
use crate::effects::{EffectRequest, lock_unpoisoned};

impl BuildContext {
    /// Returns what the agent is told about the place of its work.
    pub(super) async fn find_misplaced_work(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
        restored: &RestoreReport,
        set_aside: &SetAsideFiles,
    ) -> Result<Option<Fault>, Fault> {
        if !set_aside.large.is_empty() {
            let names = render_path_names(&set_aside.large);
            let text = format!(
                "Kept out of the work, because it is above {COMMITTED_SIZE}: {names}. Only a commit of \
                 yours can add it."
            );
            self.send_remark(order, &text).await;
        }
        if let Some(elsewhere) = workspace.find_work_elsewhere(restored).await? {
            return Ok(Some(elsewhere));
        }
        match workspace.find_only_set_aside(set_aside).await? {
            None => self.judge_undone_commits(order, workspace).await,
            found => Ok(found),
        }
    }

    /// Returns what the agent is told about commits that its work takes back.
    async fn judge_undone_commits(
        &self,
        order: &EffectRequest,
        workspace: &Workspace,
    ) -> Result<Option<Fault>, Fault> {
        let Some(undone) = workspace.find_undone_commits().await? else { return Ok(None) };
        let is_asked_for = takes_back(&collect_task_words(order));
        if !is_asked_for && lock_unpoisoned(&self.told_undone).insert(order.effect.task) {
            return Ok(Some(undone.to_fault()));
        }
        self.send_remark(order, &undone.to_sentence()).await;
        Ok(None)
    }
}
