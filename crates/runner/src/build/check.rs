//! Whether what an agent left may land: inside the fence, on the build's head, past the checks.

use unstuck_core::engine::Outcome;
use unstuck_core::fault::Fault;
use unstuck_world::validate::{Checks, Verdict};
use unstuck_world::workspace::Workspace;

use super::settings::TaskSettings;
use super::world::{Shared, failed};
use crate::world::Order;

impl Shared {
    pub(super) async fn check(&self, order: &Order) -> Outcome {
        match self.try_check(order).await {
            Ok(()) => Outcome::Done,
            Err(fault) => failed(fault),
        }
    }

    async fn try_check(&self, order: &Order) -> Result<(), Fault> {
        let (task, workspace) = (self.task(order)?, self.workspace(order)?);
        self.fence(order, task, &workspace).await?;
        let settings = &self.settings;
        let head = settings.project.build_head(order.build, &settings.start).await?;
        workspace.integrate(&head, order.effect.run, self.clock.now()).await?;
        match self.run_checks(order, task, &task.gates.pre_commit, &workspace).await? {
            Verdict::Green(_) | Verdict::NothingToCheck => Ok(()),
            Verdict::Red { fault, .. } => Err(*fault),
        }
    }

    /// What lies outside is taken back at once; what has to be asked about stays for the answer.
    async fn fence(
        &self,
        order: &Order,
        task: &TaskSettings,
        workspace: &Workspace,
    ) -> Result<(), Fault> {
        let changes = workspace.changes().await?;
        let verdict = task.scope.judge(changes.iter().map(|change| change.path.as_path()));
        let outside = verdict.out_of_scope();
        if !outside.is_empty() {
            let (run, now) = (order.effect.run, self.clock.now());
            let taken = workspace.take_back(&outside, run, now).await?;
            return verdict.fault(Some(&taken.patch)).map_or(Ok(()), Err);
        }
        match verdict.fault(None) {
            Some(fault) if !self.allowed(order, &fault).await => Err(fault),
            _ => Ok(()),
        }
    }

    /// Whether a person allowed what a fault is about.
    async fn allowed(&self, order: &Order, fault: &Fault) -> bool {
        let (task, signature) = (order.effect.task, fault.signature);
        let allowed = self.handle.look(move |state| state.allows(task, signature)).await;
        allowed.unwrap_or(false)
    }

    /// Runs the checks of a gate; what was red before anybody began is nobody's fault.
    pub(super) async fn run_checks(
        &self,
        order: &Order,
        task: &TaskSettings,
        checks: &Checks,
        workspace: &Workspace,
    ) -> Result<Verdict, Fault> {
        let baseline = self.baselines.known(&self.settings.start);
        let baseline = match &baseline {
            Some(baseline) => baseline.used(task.gates.compare)?,
            None => None,
        };
        let at = (order.effect.run, self.clock.now());
        checks.run(workspace, &task.scope, baseline, &self.shell(order), at).await
    }
}
