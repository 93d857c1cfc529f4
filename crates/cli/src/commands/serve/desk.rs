//! The desk of a project that is served: wishes go to whoever decides about it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use unstuck_core::engine::{Command, Recorded};
use unstuck_core::policy::Policy;
use unstuck_runner::{Decider, Look, Looked};
use unstuck_server::{Desk, JobStanding, Refused};
use unstuck_store::Store;
use unstuck_world::redact::Redactor;

use crate::build::redactor;
use crate::commands::jobs;
use crate::error::Error;
use crate::project::{self, Project};

/// How long a wish waits while the project changes hands, which takes a moment.
const PATIENCE: Duration = Duration::from_secs(5);

/// The desk of a project that is served.
pub(super) struct ServedDesk {
    project: Project,
    store: Arc<dyn Store>,
    redactor: Arc<Redactor>,
    policy: Arc<Policy>,
    /// Whoever decides; nobody while the project changes hands.
    decider: watch::Sender<Option<Arc<dyn Decider>>>,
}

impl ServedDesk {
    pub(super) fn new(project: Project, store: Arc<dyn Store>) -> Result<Self, Error> {
        let redactor = redactor(&project);
        let policy = Arc::new(project.settings()?.policy.clone());
        Ok(Self { project, store, redactor, policy, decider: watch::Sender::new(None) })
    }

    /// From now on these decide, or nobody does.
    pub(super) fn seat(&self, decider: Option<Arc<dyn Decider>>) {
        self.decider.send_replace(decider);
    }

    async fn decider(&self) -> Result<Arc<dyn Decider>, Refused> {
        let mut seated = self.decider.subscribe();
        let waited = tokio::time::timeout(PATIENCE, seated.wait_for(Option::is_some)).await;
        waited.ok().and_then(|seated| seated.ok()?.clone()).ok_or(Refused::ChangingHands)
    }
}

#[async_trait]
impl Desk for ServedDesk {
    async fn command(&self, command: Command) -> Result<Vec<Recorded>, Refused> {
        let decided = self.decider().await?.command(command).await?;
        Ok(decided.iter().map(|recorded| (**recorded).clone()).collect())
    }

    async fn take_answers(&self) -> Result<bool, Refused> {
        project::take_answers(&self.project).await.map_err(|_| Refused::ChangingHands)
    }

    fn redacted(&self, text: &str) -> Arc<str> {
        Arc::from(&*self.redactor.text(text))
    }

    async fn look(&self, look: Look) -> Result<Looked, Refused> {
        Ok(self.decider().await?.look(look).await?)
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy)
    }

    async fn jobs(&self) -> Result<Vec<JobStanding>, Refused> {
        let told = jobs::told(&self.project, Some(self.store.as_ref())).await;
        told.map_err(|error| Refused::NotNow(error.to_string()))
    }
}

impl fmt::Debug for ServedDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedDesk").field("project", &self.project).finish_non_exhaustive()
    }
}
