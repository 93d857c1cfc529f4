//! A desk whose engine really decides, without a performer.

use std::sync::Arc;

use async_trait::async_trait;
use unstuck_core::engine::{Command, CommandIssuer, RecordedEvent};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_runner::notify::ChannelTestResult;
use unstuck_runner::{DecideError, RunnerHandle, StateQuery, StateQueryResult};
use unstuck_server::{
    BuildStartRequest, JobOverview, OrderedBuild, ProjectHost, ProjectHostError, ReadinessError,
};
use unstuck_world::notify::DeliveryError;

/// The secret that every desk here knows.
pub(crate) const SECRET: &str = "hunter2-hunter2";

/// A desk that hands everything to a loop in this process.
#[derive(Debug)]
pub(crate) struct LoopDesk(pub(crate) RunnerHandle);

#[async_trait]
impl ProjectHost for LoopDesk {
    async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<RecordedEvent>, ProjectHostError> {
        let decided = self.0.submit_command(command).await.map_err(DecideError::from)?;
        Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
    }

    async fn start_build(
        &self,
        work: BuildStartRequest,
        order: CommandIssuer,
    ) -> Result<OrderedBuild, ProjectHostError> {
        let title = match work {
            BuildStartRequest::Goal(words) => words,
            BuildStartRequest::Files(paths) => paths.join(" and "),
        };
        if title.is_empty() {
            return Err(ProjectHostError::Malformed("there is nothing to do".to_owned()));
        }
        let spec = TaskSpec { name: "task".to_owned(), title, ..TaskSpec::default() };
        let plan = Arc::new(Plan::new(vec![spec]).unwrap());
        let start = Command::StartBuild { plan, slots: 1, in_place: false };
        let build = self.submit_build_start(start, order).await?;
        Ok(OrderedBuild { build, warnings: Vec::new() })
    }

    async fn take_answers(&self) -> Result<bool, ProjectHostError> {
        self.0.take_answers().await.map_err(|_| ProjectHostError::ChangingHands)?;
        Ok(true)
    }

    fn redact_text(&self, text: &str) -> Arc<str> {
        Arc::from(text.replace(SECRET, "[hidden]"))
    }

    async fn look_up(&self, look: StateQuery) -> Result<StateQueryResult, ProjectHostError> {
        Ok(self
            .0
            .read_state(move |state| look.answer_from(state))
            .await
            .map_err(DecideError::from)?)
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::default()
    }

    async fn list_jobs(&self) -> Result<Vec<JobOverview>, ProjectHostError> {
        Ok(Vec::new())
    }

    async fn test_notifications(&self) -> Result<Vec<ChannelTestResult>, ProjectHostError> {
        let arrived =
            |channel: &str, arrived| ChannelTestResult { channel: channel.to_owned(), arrived };
        let why = DeliveryError::Never { why: "the answer was 404".to_owned() };
        Ok(vec![arrived("phone", Ok(())), arrived("chat", Err(why))])
    }

    async fn check_ready(&self) -> Result<(), ReadinessError> {
        let ended = |_| ReadinessError::Holder;
        self.0.read_state(|_| ()).await.map_err(ended)
    }
}
