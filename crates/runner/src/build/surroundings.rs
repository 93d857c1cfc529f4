//! A check that was green before the work, and fails with words about a login or a limit: whether the work is
//! the reason shows in a checkout without it.

use unstuck_core::engine::Start;
use unstuck_core::fault::Fault;
use unstuck_world::validate::{GateChecks, find_outside_fault, lacks_network};

use super::context::BuildContext;
use super::settings::TaskSettings;
use crate::effects::EffectRequest;

impl BuildContext {
    /// Returns the fault of the surroundings if a check fails in the same way without the work; otherwise the
    /// fault as it is.
    pub(super) async fn explain_by_surroundings(
        &self,
        order: &EffectRequest,
        (task, checks): (&TaskSettings, &GateChecks),
        fault: Fault,
    ) -> Fault {
        let Some(outside) = find_outside_fault(&fault) else { return fault };
        if !self.is_for_build() || self.settings.in_place {
            return fault;
        }
        let was_red = match self.baselines.find_baseline(order.build, &task.gates) {
            Some(known) => {
                checks.commands().iter().any(|line| known.red_checks().any(|(red, _)| red == line))
            }
            None => true,
        };
        if was_red {
            return fault;
        }
        let Some(found) = Box::pin(self.check_without_work(order, checks)).await else {
            return fault;
        };
        if lacks_network(&found) {
            return found;
        }
        let is_same = |found: &Fault| found.code() == outside.code();
        let is_outside =
            find_outside_fault(&found).map_or_else(|| is_same(&found), |of| is_same(&of));
        if is_outside { outside } else { fault }
    }

    /// Runs the checks in a checkout without the work, and returns what fails there.
    async fn check_without_work(
        &self,
        order: &EffectRequest,
        checks: &GateChecks,
    ) -> Option<Fault> {
        let place = Self::task_place(order).for_fresh_checkout();
        let mut fresh = order.clone();
        fresh.effect.task = place.task;
        let checked = async {
            self.settings.project.discard_checkout(place).await?;
            let head = self.target_head(order).await?;
            let workspace = self.prepare_worktree_at(&fresh, Start::Fresh, head).await?;
            let shell = workspace.confine_shell(&self.open_check_shell(&fresh).await?.0);
            checks.run_once_in_folder(&workspace.project_folder(), None, &shell).await
        };
        let failed = checked.await.err();
        if let Err(fault) = self.settings.project.discard_checkout(place).await {
            tracing::debug!(%fault, "a checkout could not be removed");
        }
        failed
    }
}
