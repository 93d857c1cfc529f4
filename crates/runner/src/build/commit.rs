//! Committing of checked work, and removal of changes that the operator did not allow.

use unstuck_core::engine::EffectOutcome;
use unstuck_core::fault::Fault;
use unstuck_world::workspace::{CommitOutcome, CommitWording, Workspace};

use super::check::judge_scope;
use super::world::{BuildContext, failed_outcome};
use crate::effects::EffectRequest;

impl BuildContext {
    pub(super) async fn perform_commit(&self, order: &EffectRequest) -> EffectOutcome {
        match self.try_commit(order).await {
            Ok(()) => EffectOutcome::Done,
            Err(fault) => {
                self.remark_sandbox_block(order, &fault).await;
                failed_outcome(fault)
            }
        }
    }

    async fn try_commit(&self, order: &EffectRequest) -> Result<(), Fault> {
        let workspace = self.open_workspace(order).await?;
        self.commit_with_message(order, render_commit_message(order), &workspace).await
    }

    /// Commits the checked content with this message.
    pub(crate) async fn commit_with_message(
        &self,
        order: &EffectRequest,
        message: String,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let task = self.task_settings(order)?;
        let content = workspace.capture_content().await?;
        self.settings.secrets.check_patch(&workspace.create_patch_of(&content).await?)?;
        let wording =
            CommitWording { message, person: self.settings.person.clone(), at: self.clock.now() };
        // The repository's hooks run code that agents wrote, as checks do.
        let egress = &self.settings.check_egress;
        let (shell, _egress) =
            self.open_shell_with_egress(order, egress, self.task_shell(order)).await?;
        match workspace.commit_content(&content, &wording, &shell).await? {
            // A hook changed the content, so it is no longer what was checked.
            CommitOutcome::As { by_hook: true, .. } => {
                self.run_gate(order, task, &task.gates.pre_commit, workspace).await
            }
            CommitOutcome::As { .. } | CommitOutcome::Nothing => Ok(()),
        }
    }

    pub(super) async fn perform_take_back(&self, order: &EffectRequest) -> EffectOutcome {
        match self.try_take_back(order).await {
            Ok(()) => EffectOutcome::Done,
            Err(fault) => failed_outcome(fault),
        }
    }

    /// Takes back all changes that need an approval, because the operator denied it.
    async fn try_take_back(&self, order: &EffectRequest) -> Result<(), Fault> {
        let task = self.task_settings(order)?;
        let workspace = self.open_workspace(order).await?;
        let verdict = judge_scope(task, &workspace).await?;
        let paths = [verdict.out_of_scope(), verdict.ask].concat();
        if !paths.is_empty() {
            workspace.revert_work(&paths, order.effect.run, self.clock.now()).await?;
        }
        Ok(())
    }
}

/// Returns the commit message: the task's title, its name and the run.
fn render_commit_message(order: &EffectRequest) -> String {
    let title = if order.task.title.is_empty() { &order.task.name } else { &order.task.title };
    format!("{title}\n\nUnstuck-Task: {}\nUnstuck-Run: {}\n", order.task.name, order.effect.run)
}
