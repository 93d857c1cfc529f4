//! The desk of a project that is served: wishes go to whoever decides about it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use unstuck_core::engine::{BuildId, Command, Recorded};
use unstuck_runner::Undecided;
use unstuck_server::{Desk, JobStanding, Refused, Wanted};
use unstuck_store::Store;
use unstuck_world::redact::Redactor;

use crate::build::redactor;
use crate::commands::jobs;
use crate::commands::run::{Crew, Others, Performing, tasks};
use crate::error::Error;
use crate::project::{self, Post, Project};

/// The desk of a project that is served.
pub(super) struct ServedDesk {
    project: Project,
    store: Arc<dyn Store>,
    redactor: Arc<Redactor>,
    /// Where we sit; nowhere while the project changes hands.
    sits: Mutex<Option<Sits>>,
}

/// Where we sit.
struct Sits {
    post: Post,
    /// What was started from here and is carried out by us.
    performing: Vec<Performing>,
}

impl ServedDesk {
    pub(super) fn new(project: Project, store: Arc<dyn Store>) -> Self {
        let redactor = redactor(&project);
        Self { project, store, redactor, sits: Mutex::default() }
    }

    /// From now on wishes go this way, or nowhere. What was started from the last place ends with it:
    /// whoever sits next goes on.
    pub(super) fn seat(&self, post: Option<Post>) {
        *self.sits() = post.map(|post| Sits { post, performing: Vec::new() });
    }

    fn sits(&self) -> MutexGuard<'_, Option<Sits>> {
        self.sits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self) -> Result<Post, Refused> {
        self.sits().as_ref().map(|sits| sits.post.clone()).ok_or(Refused::ChangingHands)
    }
}

#[async_trait]
impl Desk for ServedDesk {
    async fn command(&self, command: Command) -> Result<Vec<Recorded>, Refused> {
        let decided = self.post()?.decider().command(command).await.map_err(refused)?;
        Ok(decided.iter().map(|recorded| (**recorded).clone()).collect())
    }

    async fn start(&self, work: Wanted) -> Result<BuildId, Refused> {
        let malformed = |error: Error| Refused::Malformed(told(&error));
        let not_now = |error: Error| Refused::NotNow(told(&error));
        let tasks = match work {
            Wanted::Goal(words) => tasks::goal(&self.project, words),
            Wanted::Files(paths) => tasks::of_project(&self.project, &paths),
        };
        let tasks = tasks.map_err(malformed)?;
        let settings = self.project.settings().map_err(not_now)?;
        let crew = Crew::gather(&self.project, (*settings).clone()).await.map_err(not_now)?;
        let plan = crew.plan(tasks).map_err(malformed)?;
        crew.check(&plan).await.map_err(not_now)?;
        let post = self.post()?;
        let build = crew.start(&post, plan).await.map_err(not_now)?;
        // It is on disk: whoever sits here next finds it, whatever happens now.
        let performing = crew.perform(&post, &self.store, &[build], Others::LeftAlone).await;
        let performing = performing.map_err(not_now)?;
        if let Some(sits) = self.sits().as_mut() {
            sits.performing.push(performing);
        }
        Ok(build)
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
}

/// What is wrong and what to do about it, in one line.
fn told(error: &Error) -> String {
    let told = [error.to_string()].into_iter().chain(error.hints());
    told.collect::<Vec<_>>().join("; ").replace('\n', "; ")
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
