//! The desk of a project that is served: wishes go to whoever decides about it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use unstuck_core::engine::{Command, Recorded};
use unstuck_runner::notify::{Tested, test};
use unstuck_runner::{Decider, Undecided};
use unstuck_server::{Desk, JobStanding, Refused};
use unstuck_store::Store;
use unstuck_world::redact::Redactor;

use crate::build::redactor;
use crate::commands::jobs;
use crate::project::{self, Project};

/// The desk of a project that is served.
pub(super) struct ServedDesk {
    project: Project,
    store: Arc<dyn Store>,
    redactor: Arc<Redactor>,
    /// Whoever decides; nobody while the project changes hands.
    decider: Mutex<Option<Arc<dyn Decider>>>,
}

impl ServedDesk {
    pub(super) fn new(project: Project, store: Arc<dyn Store>) -> Self {
        let redactor = redactor(&project);
        Self { project, store, redactor, decider: Mutex::default() }
    }

    /// From now on these decide, or nobody does.
    pub(super) fn seat(&self, decider: Option<Arc<dyn Decider>>) {
        *self.decider.lock().unwrap_or_else(PoisonError::into_inner) = decider;
    }

    fn decider(&self) -> Result<Arc<dyn Decider>, Refused> {
        let decider = self.decider.lock().unwrap_or_else(PoisonError::into_inner).clone();
        decider.ok_or(Refused::ChangingHands)
    }
}

#[async_trait]
impl Desk for ServedDesk {
    async fn command(&self, command: Command) -> Result<Vec<Recorded>, Refused> {
        let decided = self.decider()?.command(command).await.map_err(refused)?;
        Ok(decided.iter().map(|recorded| (**recorded).clone()).collect())
    }

    async fn take_answers(&self) -> Result<bool, Refused> {
        project::take_answers(&self.project).await.map_err(|_| Refused::ChangingHands)
    }

    fn redacted(&self, text: &str) -> Arc<str> {
        Arc::from(&*self.redactor.text(text))
    }

    async fn jobs(&self) -> Result<Vec<JobStanding>, Refused> {
        let told = jobs::told(&self.project, Some(self.store.as_ref())).await;
        told.map_err(|error| Refused::NotNow(error.to_string()))
    }

    async fn test_notifications(&self) -> Result<Vec<Tested>, Refused> {
        let channels = project::channels(&self.project);
        let channels = channels.map_err(|error| Refused::NotNow(error.to_string()))?;
        Ok(test(self.project.name(), &channels, project::now()).await)
    }
}

fn refused(undecided: Undecided) -> Refused {
    match undecided {
        Undecided::Refused(said) | Undecided::KeyReused(said) => Refused::NotNow(said),
        Undecided::Stale => Refused::NotNow("it is over already".to_owned()),
        Undecided::Store(fault) => Refused::Fault(fault),
        Undecided::Ended => Refused::ChangingHands,
    }
}

impl fmt::Debug for ServedDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedDesk").field("project", &self.project).finish_non_exhaustive()
    }
}
