//! The desk of a project that is served: wishes go to whoever decides about it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Mutex, MutexGuard, watch};
use unstuck_core::engine::{BuildId, Command, Order, Recorded};
use unstuck_core::policy::Policy;
use unstuck_runner::notify::{Tested, test};
use unstuck_runner::{Decider, Look, Looked};
use unstuck_server::{Desk, JobStanding, NotReady, Refused, Wanted};
use unstuck_store::Store;
use unstuck_world::redact::Redactor;

use crate::build::redactor;
use crate::commands::jobs;
use crate::commands::run::{Crew, Others, Performing, open_builds, tasks};
use crate::error::Error;
use crate::project::{self, Post, Project};

/// How long a wish waits while the project changes hands, which takes a moment.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a store, its log and an answer need to be written.
const FREE_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// The desk of a project that is served.
pub(super) struct ServedDesk {
    project: Project,
    store: Arc<dyn Store>,
    redactor: Arc<Redactor>,
    policy: Arc<Policy>,
    /// Whether the jobs are to be run at their times, here or elsewhere.
    keeps_jobs: bool,
    /// The way to whoever decides; none while the project changes hands.
    post: watch::Sender<Option<Post>>,
    /// The builds that are carried out by us.
    performing: Mutex<Performing>,
}

impl ServedDesk {
    pub(super) fn new(project: Project, store: Arc<dyn Store>) -> Result<Self, Error> {
        let redactor = redactor(&project);
        let policy = Arc::new(project.settings()?.policy.clone());
        let (post, performing) = (watch::Sender::new(None), Mutex::new(Performing::new(&project)));
        Ok(Self { project, store, redactor, policy, keeps_jobs: false, post, performing })
    }

    /// The jobs of the project are to be run as long as it is served.
    pub(super) fn keeping_jobs(self) -> Self {
        Self { keeps_jobs: true, ..self }
    }

    /// From now on wishes go this way, and so does what is carried out by us.
    pub(super) async fn sit(&self, post: &Post) -> Result<(), Error> {
        self.performing().await.sit(post).await?;
        self.post.send_replace(Some(post.clone()));
        Ok(())
    }

    /// Wishes wait until there is a place again.
    pub(super) fn stand_up(&self) {
        self.post.send_replace(None);
    }

    /// The builds that are carried out by us.
    pub(super) async fn performing(&self) -> MutexGuard<'_, Performing> {
        self.performing.lock().await
    }

    async fn post(&self) -> Result<Post, Refused> {
        let mut seated = self.post.subscribe();
        let waited = tokio::time::timeout(PATIENCE, seated.wait_for(Option::is_some)).await;
        waited.ok().and_then(|seated| seated.ok()?.clone()).ok_or(Refused::ChangingHands)
    }

    fn has_jobs(&self) -> bool {
        jobs::Defined::read(&self.project).is_ok_and(|defined| !defined.all().is_empty())
    }

    /// Settings, locks and folders are looked at where the disk may be waited for.
    fn machine_ready(&self) -> Result<(), NotReady> {
        let full = |disk: rustix::fs::StatVfs| {
            disk.f_bavail.saturating_mul(disk.f_frsize) < FREE_BYTES_MIN
        };
        if rustix::fs::statvfs(self.project.folder()).is_ok_and(full) {
            return Err(NotReady::Disk);
        }
        if self.keeps_jobs && self.has_jobs() && jobs::current_watcher(&self.project).is_none() {
            return Err(NotReady::Jobs);
        }
        Ok(())
    }

    async fn decider(&self) -> Result<Arc<dyn Decider>, Refused> {
        Ok(self.post().await?.decider())
    }
}

#[async_trait]
impl Desk for ServedDesk {
    async fn command(&self, command: Command) -> Result<Vec<Recorded>, Refused> {
        let decided = self.decider().await?.command(command).await?;
        Ok(decided.iter().map(|recorded| (**recorded).clone()).collect())
    }

    async fn start(&self, work: Wanted, order: Order) -> Result<BuildId, Refused> {
        // What it says may have changed since, and so may the tree; the build is there all the same.
        if let Some(build) = self.begun(&order).await? {
            return Ok(build);
        }
        let malformed = |error: Error| Refused::Malformed(told(&error));
        let not_now = |error: Error| Refused::NotNow(told(&error));
        // A build has the settings of when it is ordered.
        let project = self.project.read_again().map_err(not_now)?;
        let tasks = match work {
            Wanted::Goal(words) => tasks::goal(&project, words),
            Wanted::Files(paths) => tasks::of_project(&project, &paths).await,
        };
        let tasks = tasks.map_err(malformed)?;
        let settings = project.settings().map_err(not_now)?;
        let crew = Crew::gather(&project, (*settings).clone()).await.map_err(not_now)?;
        let plan = crew.plan(tasks).map_err(malformed)?;
        crew.check(&plan).await.map_err(not_now)?;
        crew.make_way(&self.store).await.map_err(not_now)?;
        let build = self.begin(crew.start(plan), order).await?;
        // It is on disk: whoever sits here next finds it, whatever happens now.
        let open = open_builds(&self.project, &self.store).await.map_err(not_now)?;
        let (post, mut performing) = (self.post().await?, self.performing().await);
        performing.keep(&open);
        let performed =
            crew.perform(&mut performing, &post, &self.store, &[build], Others::LeftAlone).await;
        performed.map_err(not_now)?;
        Ok(build)
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

    async fn test_notifications(&self) -> Result<Vec<Tested>, Refused> {
        let channels = project::channels(&self.project);
        let channels = channels.map_err(|error| Refused::NotNow(error.to_string()))?;
        Ok(test(self.project.name(), &channels, project::now()).await)
    }

    async fn ready(&self) -> Result<(), NotReady> {
        self.machine_ready()?;
        // Whatever is looked up: that there is an answer is what counts.
        let anything = Look::Job { name: String::new() };
        let answers = async { self.decider().await?.look(anything).await.map_err(Refused::from) };
        match tokio::time::timeout(PATIENCE, answers).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(NotReady::Holder),
        }
    }
}

/// What is wrong and what to do about it, in one line.
pub(super) fn told(error: &Error) -> String {
    let told = [error.to_string()].into_iter().chain(error.hints());
    told.collect::<Vec<_>>().join("; ").replace('\n', "; ")
}

impl fmt::Debug for ServedDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedDesk").field("project", &self.project).finish_non_exhaustive()
    }
}
