//! Performs the loop's requests at the site, and reports them as the worker of a build does: a failed attempt
//! with its approach, a failed check without.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Command, EffectKind, EffectOutcome, Event, Start, TaskId};
use unstuck_core::fault::Fault;
use unstuck_runner::{Clock, EffectRequest, EffectResult, Performer, RunnerHandle};

use crate::healing::scenario::ScenarioAction;
use crate::healing::site::{ScenarioSite, SiteActionReply, SiteAgentCall, SiteAgentFailure};

pub(super) struct ScenarioPerformer {
    pub(super) site: Arc<ScenarioSite>,
    pub(super) handle: RunnerHandle,
    pub(super) clock: Arc<dyn Clock>,
}

#[async_trait]
impl Performer for ScenarioPerformer {
    async fn perform_effect(
        &self,
        request: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        tokio::select! {
            biased;
            () = stop.cancelled() => None,
            outcome = self.perform_request(&request) => outcome.map(EffectResult::from),
        }
    }

    async fn reap_leftovers(&self, _: &[TaskId]) {
        // All running work died with the supervisor.
    }
}

impl ScenarioPerformer {
    async fn perform_request(&self, request: &EffectRequest) -> Option<EffectOutcome> {
        let site = &self.site;
        let task = request.task.name.as_str();
        Some(match request.effect.what {
            EffectKind::Attempt { start } => return self.perform_attempt(request, start).await,
            EffectKind::Check => plain_outcome(site.check_work(task).await),
            EffectKind::Commit => plain_outcome(site.commit_work(task).await),
            EffectKind::TakeBack => plain_outcome(site.take_back(task).await),
            EffectKind::Perform { .. } => {
                action_outcome(site.perform_action(task, self.find_action(request)?).await)
            }
            EffectKind::Probe { .. } => {
                probe_outcome(site.probe_action(task, &self.find_action(request)?.key).await)
            }
            // Notifications always succeed; a scenario has no scripts.
            EffectKind::Emit | EffectKind::Repair { .. } | EffectKind::Execute { .. } => {
                EffectOutcome::Done
            }
        })
    }

    fn find_action(&self, request: &EffectRequest) -> Option<&ScenarioAction> {
        let key = &request.mutation.as_ref()?.spec.key;
        self.site.scenario().find_task(&request.task.name)?.actions.iter().find(|a| a.key == *key)
    }

    async fn perform_attempt(
        &self,
        request: &EffectRequest,
        start: Start,
    ) -> Option<EffectOutcome> {
        let task = request.task.name.as_str();
        let how = SiteAgentCall {
            told: request.context.is_some(),
            goes_on: matches!(start, Start::Resume | Start::Compacted),
            compacted: start == Start::Compacted,
        };
        match self.site.call_agent(task, how).await {
            Err(SiteAgentFailure { fault, approach }) => {
                let fault = Arc::new(fault);
                let approach = approach.map(Arc::new);
                Some(EffectOutcome::Failed { fault, approach })
            }
            Ok(approach) => {
                self.run_commands(request).await?;
                Some(EffectOutcome::Attempted { approach: Arc::new(approach) })
            }
        }
    }

    /// Runs the agent's command until it succeeds. A fault is reported to the engine, which makes the agent
    /// wait, or ends the attempt: then its result is not awaited.
    async fn run_commands(&self, request: &EffectRequest) -> Option<()> {
        if !self.site.runs_commands(&request.task.name) {
            return Some(());
        }
        while let Err(fault) = self.site.run_command(&request.task.name).await {
            let raised = Command::Raise { effect: request.effect.id, fault: Arc::new(fault) };
            let decided = self.handle.submit_command(raised).await.ok()?;
            let until = decided.events.iter().find_map(|recorded| match recorded.event {
                Event::ToolWaiting { until, .. } => Some(until),
                _ => None,
            });
            self.clock.wait_until(until?).await;
        }
        Some(())
    }
}

fn plain_outcome(result: Result<(), Fault>) -> EffectOutcome {
    match result {
        Ok(()) => EffectOutcome::Done,
        Err(fault) => EffectOutcome::Failed { fault: Arc::new(fault), approach: None },
    }
}

fn action_outcome(acted: SiteActionReply) -> EffectOutcome {
    match acted {
        SiteActionReply::Applied => EffectOutcome::Applied { result: Arc::from("done") },
        SiteActionReply::Refused(fault) => {
            EffectOutcome::Failed { fault: Arc::new(fault), approach: None }
        }
        SiteActionReply::Lost(fault) => EffectOutcome::Unknown { fault: Arc::new(fault) },
    }
}

fn probe_outcome(result: Result<bool, Fault>) -> EffectOutcome {
    match result {
        Ok(true) => EffectOutcome::Applied { result: Arc::from("seen") },
        Ok(false) => EffectOutcome::NotApplied,
        Err(fault) => EffectOutcome::Failed { fault: Arc::new(fault), approach: None },
    }
}
