//! The worker that performs the effects of a build.

use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, EffectKind, EffectOutcome, TaskId};
use unstuck_core::fault::{Fault, Internal};
use unstuck_store::Store;

use super::context::{BuildContext, MergeTarget};
use super::settings::BuildSettings;
use crate::decider::Decider;
use crate::effects::{
    EffectRequest, EffectResult, Performer, RunningEffects, failed_outcome, redact_outcome,
};
use crate::event_loop::Clock;

/// The worker of a build's effects. Clones share their state.
#[derive(Clone)]
pub struct BuildPerformer {
    shared: Arc<BuildContext>,
    /// Kept apart from the context, which running effects own: they are aborted when the last clone
    /// is dropped.
    under_way: Arc<RunningEffects>,
}

impl BuildPerformer {
    /// Creates the worker for the decisions of `decider` about the project `project_name` in
    /// `store`.
    pub fn new(
        settings: BuildSettings,
        decider: Arc<dyn Decider>,
        store: Arc<dyn Store>,
        project_name: impl Into<String>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let shared = BuildContext::new(
            settings,
            MergeTarget::Build,
            decider,
            store,
            project_name.into(),
            clock,
        );
        Self { shared: Arc::new(shared), under_way: Arc::default() }
    }

    /// Stops the running effects, and performs no further ones.
    pub fn shut_down(&self) {
        self.shared.over.cancel();
    }
}

impl BuildContext {
    /// Performs an effect until it has ended or the worker is ended.
    async fn perform_until_over(
        &self,
        order: &EffectRequest,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let mut work =
            pin!(self.with_worktree_lock(order, Box::pin(self.dispatch_effect(order, stop)), stop));
        tokio::select! {
            biased;
            report = &mut work => return report,
            () = self.over.cancelled() => stop.cancel(),
        }
        work.await
    }

    /// Performs work in a task's worktree with exclusive access, and redacts the report.
    pub(crate) async fn with_worktree_lock(
        &self,
        order: &EffectRequest,
        work: impl Future<Output = Option<EffectResult>>,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let _turn = self.worktrees.lock_worktree(order.effect.task, stop).await?;
        let mut report = work.await?;
        redact_outcome(&self.settings.redactor, &mut report.outcome);
        Some(report)
    }

    async fn dispatch_effect(
        &self,
        order: &EffectRequest,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let outcome = match order.effect.what {
            EffectKind::Attempt { start } => return self.perform_attempt(order, start, stop).await,
            // A check that is stopped halfway starts again, as after a kill.
            EffectKind::Check => {
                to_outcome(stop.run_until_cancelled(Box::pin(self.try_check(order))).await?)
            }
            EffectKind::Commit => self.perform_commit(order).await,
            EffectKind::Perform { .. } => self.perform_action(order).await,
            EffectKind::Probe { .. } => self.probe_action(order).await,
            EffectKind::TakeBack => to_outcome(self.try_take_back(order).await),
            EffectKind::Emit => {
                self.remove_landed_worktree(order).await;
                EffectOutcome::Done
            }
            EffectKind::Repair { .. } | EffectKind::Execute { .. } => {
                failed_outcome(misplaced_effect_fault(order))
            }
        };
        Some(outcome.into())
    }
}

#[async_trait]
impl Performer for BuildPerformer {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        let effect = order.effect.clone();
        let shared = Arc::clone(&self.shared);
        let work =
            |stop: CancellationToken| async move { shared.perform_until_over(&order, &stop).await };
        self.under_way.perform_or_join(&effect, &stop, work).await
    }

    fn running_effects(&self) -> Vec<EffectId> {
        self.under_way.effect_ids()
    }

    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        self.shared.runs.reap_tasks(tasks).await;
    }
}

fn to_outcome(done: Result<(), Fault>) -> EffectOutcome {
    done.map_or_else(failed_outcome, |()| EffectOutcome::Done)
}

fn misplaced_effect_fault(order: &EffectRequest) -> Fault {
    let message = format!("{:?} is nothing a build does", order.effect.what);
    Fault::internal_error("build", message, Internal { component: "build".to_owned() })
}
