//! A job that is one irreversible action: how somebody who belongs to no run gets one performed.
//!
//! It is a job of its own so that it is seen in `status` and `log`, and so that whoever comes after a
//! crash finds out first what became of it.

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

/// What came of the action, as soon as that is known.
pub type Said = Option<Arc<Result<Settled, Undecided>>>;

/// Performs the job: the one action, once.
pub struct ActionJob {
    decider: Arc<dyn Decider>,
    spec: MutationSpec,
    action: Arc<dyn Action>,
    prober: Prober,
    say: watch::Sender<Said>,
}

impl ActionJob {
    /// The job that performs `action`, decided by `decider`, and where it says what came of it.
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
        // What became of the action is told by whoever asked; the job itself has done its part.
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
            // Whoever was about to send it is gone, and may have sent it.
            Work::Perform { .. } => Outcome::Unknown { fault: sender_gone() },
            _ => Outcome::Done,
        };
        Some(outcome.into())
    }

    async fn clear(&self, tasks: &[TaskId]) {
        let (runs, never) = (Runs::new(self.prober.runs.clone()), CancellationToken::new());
        for task in tasks {
            runs.clear(*task, &never).await;
        }
    }
}
