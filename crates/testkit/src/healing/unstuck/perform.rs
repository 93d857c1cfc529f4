//! Performs the loop's orders at the site, and reports them as the worker of a build does: a failed attempt
//! with its approach, a failed check without.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Command, Event, Outcome, Start, TaskId, Work};
use unstuck_core::fault::Fault;
use unstuck_runner::{Clock, Handle, Order, Report, World};

use crate::healing::scenario::Action;
use crate::healing::site::{Acted, Failed, How, Site};

/// Performs effects at a site.
pub(super) struct Performer {
    pub(super) site: Arc<Site>,
    pub(super) handle: Handle,
    pub(super) clock: Arc<dyn Clock>,
}

#[async_trait]
impl World for Performer {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        tokio::select! {
            biased;
            () = stop.cancelled() => None,
            outcome = self.outcome(&order) => outcome.map(Report::from),
        }
    }

    async fn clear(&self, _: &[TaskId]) {
        // All running work died with the supervisor.
    }
}

impl Performer {
    async fn outcome(&self, order: &Order) -> Option<Outcome> {
        let site = &self.site;
        let task = order.task.name.as_str();
        Some(match order.effect.what {
            Work::Attempt { start } => return self.attempt(order, start).await,
            Work::Check => plain(site.check(task).await),
            Work::Commit => plain(site.commit(task).await),
            Work::TakeBack => plain(site.take_back(task).await),
            Work::Perform { .. } => performed(site.act(task, self.action(order)?).await),
            Work::Probe { .. } => looked_up(site.look_up(task, &self.action(order)?.key).await),
            // Notifications always succeed; a scenario has no scripts.
            Work::Emit | Work::Repair { .. } | Work::Execute { .. } | Work::Stop { .. } => {
                Outcome::Done
            }
        })
    }

    fn action(&self, order: &Order) -> Option<&Action> {
        let key = &order.mutation.as_ref()?.spec.key;
        self.site.scenario().task(&order.task.name)?.actions.iter().find(|a| a.key == *key)
    }

    async fn attempt(&self, order: &Order, start: Start) -> Option<Outcome> {
        let task = order.task.name.as_str();
        let how = How {
            told: order.context.is_some(),
            goes_on: matches!(start, Start::Resume | Start::Compacted),
            compacted: start == Start::Compacted,
        };
        match self.site.call(task, how).await {
            Err(Failed { fault, approach }) => {
                let fault = Arc::new(fault);
                let approach = approach.map(Arc::new);
                Some(Outcome::Failed { fault, approach })
            }
            Ok(approach) => {
                self.commands(order).await?;
                Some(Outcome::Attempted { approach: Arc::new(approach) })
            }
        }
    }

    /// Runs the agent's command until it succeeds. A fault is reported to the engine, which makes the agent
    /// wait, or ends the attempt: then its result is not awaited.
    async fn commands(&self, order: &Order) -> Option<()> {
        if !self.site.runs_commands(&order.task.name) {
            return Some(());
        }
        while let Err(fault) = self.site.command(&order.task.name).await {
            let raised = Command::Raise { effect: order.effect.id, fault: Arc::new(fault) };
            let decided = self.handle.command(raised).await.ok()?;
            let until = decided.events.iter().find_map(|recorded| match recorded.event {
                Event::ToolWaiting { until, .. } => Some(until),
                _ => None,
            });
            self.clock.until(until?).await;
        }
        Some(())
    }
}

fn plain(result: Result<(), Fault>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(fault) => Outcome::Failed { fault: Arc::new(fault), approach: None },
    }
}

fn performed(acted: Acted) -> Outcome {
    match acted {
        Acted::Applied => Outcome::Applied { result: Arc::from("done") },
        Acted::Refused(fault) => Outcome::Failed { fault: Arc::new(fault), approach: None },
        Acted::Lost(fault) => Outcome::Unknown { fault: Arc::new(fault) },
    }
}

fn looked_up(result: Result<bool, Fault>) -> Outcome {
    match result {
        Ok(true) => Outcome::Applied { result: Arc::from("seen") },
        Ok(false) => Outcome::NotApplied,
        Err(fault) => Outcome::Failed { fault: Arc::new(fault), approach: None },
    }
}
