//! A job that consists of one irreversible action, for callers that have no run of their own.
//!
//! As a job it shows up in `status` and `log`, and after a crash the next holder looks up whether
//! the action was applied before anything else is done.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Outcome, TaskId, Work};
use unstuck_core::plan::MutationSpec;

use crate::decider::{Decider, Undecided};
use crate::ledger::{Action, Settled, sender_gone};
use crate::probe::Prober;
use crate::runs::Runs;
use crate::world::{Order, Report, World};

/// The result of the action; `None` until it is known.
pub type Said = Option<Arc<Result<Settled, Undecided>>>;

/// The [`World`] of the job: performs the action once.
pub struct ActionJob {
    decider: Arc<dyn Decider>,
    spec: MutationSpec,
    action: Arc<dyn Action>,
    prober: Prober,
    say: watch::Sender<Said>,
}

impl ActionJob {
    /// Creates the job that performs `action` through `decider`, and the receiver of its result.
    pub fn new(
        decider: Arc<dyn Decider>,
        spec: MutationSpec,
        action: Arc<dyn Action>,
        prober: Prober,
    ) -> (Self, watch::Receiver<Said>) {
        let (say, said) = watch::channel(None);
        (Self { decider, spec, action, prober, say }, said)
    }

    async fn execute(&self, order: &Order) -> Outcome {
        let action = Arc::clone(&self.action);
        let settled = self.decider.mutate(order.effect.id, self.spec.clone(), action).await;
        self.say.send_replace(Some(Arc::new(settled)));
        // The caller reports what became of the action; the job itself is done.
        Outcome::Done
    }
}

#[async_trait]
impl World for ActionJob {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        let outcome = match order.effect.what {
            Work::Execute { .. } => self.execute(&order).await,
            Work::Probe { .. } if order.look_up().is_some() => {
                self.prober.look_up(&order, &stop).await?
            }
            Work::Probe { .. } => self.action.probe("").await,
            // The process that was about to send the action is gone, and may have sent it.
            Work::Perform { .. } => Outcome::Unknown { fault: sender_gone() },
            _ => Outcome::Done,
        };
        Some(outcome.into())
    }

    async fn clear(&self, tasks: &[TaskId]) {
        let runs = Runs::new(self.prober.runs.clone());
        let never = CancellationToken::new();
        for task in tasks {
            runs.clear(*task, &never).await;
        }
    }
}
