//! A desk whose engine really decides, without a performer.

use std::sync::Arc;

use async_trait::async_trait;
use unstuck_core::engine::{BuildId, Command, Order, Recorded};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_runner::notify::Tested;
use unstuck_runner::{Handle, Look, Looked, Undecided};
use unstuck_server::{Desk, JobStanding, NotReady, Refused, Wanted};
use unstuck_world::notify::Undelivered;

/// The secret that every desk here knows.
pub(crate) const SECRET: &str = "hunter2-hunter2";

/// A desk that hands everything to a loop in this process.
#[derive(Debug)]
pub(crate) struct LoopDesk(pub(crate) Handle);

#[async_trait]
impl Desk for LoopDesk {
    async fn command(&self, command: Command) -> Result<Vec<Recorded>, Refused> {
        let decided = self.0.command(command).await.map_err(Undecided::from)?;
        Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
    }

    async fn start(&self, work: Wanted, order: Order) -> Result<BuildId, Refused> {
        let title = match work {
            Wanted::Goal(words) => words,
            Wanted::Files(paths) => paths.join(" and "),
        };
        if title.is_empty() {
            return Err(Refused::Malformed("there is nothing to do".to_owned()));
        }
        let spec = TaskSpec { name: "task".to_owned(), title, ..TaskSpec::default() };
        let plan = Arc::new(Plan::new(vec![spec]).unwrap());
        let start = Command::StartBuild { plan, slots: 1, in_place: false };
        self.begin(start, order).await
    }

    async fn take_answers(&self) -> Result<bool, Refused> {
        self.0.take_answers().await.map_err(|_| Refused::ChangingHands)?;
        Ok(true)
    }

    fn redacted(&self, text: &str) -> Arc<str> {
        Arc::from(text.replace(SECRET, "[hidden]"))
    }

    async fn look(&self, look: Look) -> Result<Looked, Refused> {
        Ok(self.0.look(move |state| look.at(state)).await.map_err(Undecided::from)?)
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::default()
    }

    async fn jobs(&self) -> Result<Vec<JobStanding>, Refused> {
        Ok(Vec::new())
    }

    async fn test_notifications(&self) -> Result<Vec<Tested>, Refused> {
        let arrived = |channel: &str, arrived| Tested { channel: channel.to_owned(), arrived };
        let why = Undelivered::Never { why: "the answer was 404".to_owned() };
        Ok(vec![arrived("phone", Ok(())), arrived("chat", Err(why))])
    }

    async fn ready(&self) -> Result<(), NotReady> {
        let ended = |_| NotReady::Holder;
        self.0.look(|_| ()).await.map_err(ended)
    }
}
