//! A job that consists of one irreversible action, for callers that have no run of their own.
//!
//! As a job it shows up in `status` and `log`, and after a crash the next holder looks up whether
//! the action was applied before anything else is done.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectKind, EffectOutcome, TaskId};
use unstuck_core::plan::MutationSpec;

use crate::decider::{DecideError, Decider};
use crate::effects::{EffectRequest, EffectResult, Performer, RunLocks};
use crate::ledger::{ActionProber, ActionResult, LedgerAction, sender_gone_fault};

/// The result of the action; `None` until it is known.
pub type ActionJobResult = Option<Arc<Result<ActionResult, DecideError>>>;

/// The [`Performer`] of the job: performs the action once.
pub struct ActionJob {
    decider: Arc<dyn Decider>,
    spec: MutationSpec,
    action: Arc<dyn LedgerAction>,
    prober: ActionProber,
    say: watch::Sender<ActionJobResult>,
}

impl ActionJob {
    /// Creates the job that performs `action` through `decider`, and the receiver of its result.
    pub fn new(
        decider: Arc<dyn Decider>,
        spec: MutationSpec,
        action: Arc<dyn LedgerAction>,
        prober: ActionProber,
    ) -> (Self, watch::Receiver<ActionJobResult>) {
        let (say, said) = watch::channel(None);
        (Self { decider, spec, action, prober, say }, said)
    }

    async fn perform_job_action(&self, order: &EffectRequest) -> EffectOutcome {
        let action = Arc::clone(&self.action);
        let settled = self.decider.perform_action(order.effect.id, self.spec.clone(), action).await;
        self.say.send_replace(Some(Arc::new(settled)));
        // The caller reports what became of the action; the job itself is done.
        EffectOutcome::Done
    }
}

#[async_trait]
impl Performer for ActionJob {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        let outcome = match order.effect.what {
            // The caller gives up while the outcome is still open; the next start finds it out.
            EffectKind::Execute { .. } => tokio::select! {
                outcome = self.perform_job_action(&order) => outcome,
                () = stop.cancelled() => return None,
            },
            EffectKind::Probe { .. } if order.probe_command().is_some() => {
                self.prober.probe_action(&order, &stop).await?
            }
            EffectKind::Probe { .. } => self.action.probe_outcome("").await,
            // The process that was about to send the action is gone, and may have sent it.
            EffectKind::Perform { .. } => EffectOutcome::Unknown { fault: sender_gone_fault() },
            _ => EffectOutcome::Done,
        };
        Some(outcome.into())
    }

    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        RunLocks::new(self.prober.runs.clone()).reap_tasks(tasks).await;
    }
}
