//! Committing of checked work, and removal of changes that the operator did not allow.

use unstuck_core::engine::Outcome;
use unstuck_core::fault::Fault;
use unstuck_world::workspace::{Committed, Wording, Workspace};

use super::check::look_over;
use super::world::{Shared, failed};
use crate::world::Order;

impl Shared {
    pub(super) async fn commit(&self, order: &Order) -> Outcome {
        match self.try_commit(order).await {
            Ok(()) => Outcome::Done,
            Err(fault) => {
                self.say_kept(order, &fault).await;
                failed(fault)
            }
        }
    }

    async fn try_commit(&self, order: &Order) -> Result<(), Fault> {
        let workspace = self.workspace(order).await?;
        self.commit_as(order, message(order), &workspace).await
    }

    /// Commits the checked content with this message.
    pub(crate) async fn commit_as(
        &self,
        order: &Order,
        message: String,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let task = self.task(order)?;
        let content = workspace.content().await?;
        self.settings.secrets.check(&workspace.patch_of(&content).await?)?;
        let wording =
            Wording { message, person: self.settings.person.clone(), at: self.clock.now() };
        // The repository's hooks run code that agents wrote, as checks do.
        let egress = &self.settings.check_egress;
        let (shell, _egress) = self.shell_reaching(order, egress, self.shell(order)).await?;
        match workspace.commit(&content, &wording, &shell).await? {
            // A hook changed the content, so it is no longer what was checked.
            Committed::As { by_hook: true, .. } => {
                self.pass(order, task, &task.gates.pre_commit, workspace).await
            }
            Committed::As { .. } | Committed::Nothing => Ok(()),
        }
    }

    pub(super) async fn take_back(&self, order: &Order) -> Outcome {
        match self.try_take_back(order).await {
            Ok(()) => Outcome::Done,
            Err(fault) => failed(fault),
        }
    }

    /// Takes back all changes that need an approval, because the operator denied it.
    async fn try_take_back(&self, order: &Order) -> Result<(), Fault> {
        let task = self.task(order)?;
        let workspace = self.workspace(order).await?;
        let verdict = look_over(task, &workspace).await?;
        let paths = [verdict.out_of_scope(), verdict.ask].concat();
        if !paths.is_empty() {
            workspace.take_back_work(&paths, order.effect.run, self.clock.now()).await?;
        }
        Ok(())
    }
}

/// Returns the commit message: the task's title, its name and the run.
fn message(order: &Order) -> String {
    let title = if order.task.title.is_empty() { &order.task.name } else { &order.task.title };
    format!("{title}\n\nUnstuck-Task: {}\nUnstuck-Run: {}\n", order.task.name, order.effect.run)
}
