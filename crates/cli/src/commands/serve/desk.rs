//! The desk of a served project: passes requests to its decider.

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

/// Maximum time that a request waits while the holder changes, which takes a moment.
const PATIENCE: Duration = Duration::from_secs(5);
/// Minimum free disk space, enough to write the store, its log and an answer.
const FREE_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// The desk of a served project.
pub(super) struct ServedDesk {
    project: Project,
    store: Arc<dyn Store>,
    redactor: Arc<Redactor>,
    policy: Arc<Policy>,
    /// Set if the scheduled jobs must run, here or in another process.
    keeps_jobs: bool,
    /// The connection to the decider; `None` while the holder changes.
    post: watch::Sender<Option<Post>>,
    /// The builds that this process performs.
    performing: Mutex<Performing>,
}

impl ServedDesk {
    pub(super) fn new(project: Project, store: Arc<dyn Store>) -> Result<Self, Error> {
        let redactor = redactor(&project);
        let policy = Arc::new(project.settings()?.policy.clone());
        let post = watch::Sender::new(None);
        let performing = Mutex::new(Performing::new(&project));
        Ok(Self { project, store, redactor, policy, keeps_jobs: false, post, performing })
    }

    /// Requires that the jobs of the project run as long as it is served.
    pub(super) fn keeping_jobs(self) -> Self {
        Self { keeps_jobs: true, ..self }
    }

    /// Sends requests and the reports of performed builds to this decider from now on.
    pub(super) async fn sit(&self, post: &Post) -> Result<(), Error> {
        self.performing().await.sit(post).await?;
        self.post.send_replace(Some(post.clone()));
        Ok(())
    }

    /// Makes requests wait until there is a decider again.
    pub(super) fn stand_up(&self) {
        self.post.send_replace(None);
    }

    /// Returns the builds that this process performs.
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

    /// Checks the disk, the settings and the lock of the watcher; may block on the disk.
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
        // The task files or the tree may have changed since; the build exists all the same.
        if let Some(build) = self.begun(&order).await? {
            return Ok(build);
        }
        let malformed = |error: Error| Refused::Malformed(told(&error));
        let not_now = |error: Error| Refused::NotNow(told(&error));
        // A build has the settings of the moment at which it is ordered.
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
        // The build is on disk: the next holder finds it, whatever happens now.
        let open = open_builds(&self.project, &self.store).await.map_err(not_now)?;
        let post = self.post().await?;
        let mut performing = self.performing().await;
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
        // The lookup is arbitrary; only a response counts.
        let anything = Look::Job { name: String::new() };
        let answers = async { self.decider().await?.look(anything).await.map_err(Refused::from) };
        match tokio::time::timeout(PATIENCE, answers).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(NotReady::Holder),
        }
    }
}

/// Formats an error and its hints on one line.
pub(super) fn told(error: &Error) -> String {
    let told = [error.to_string()].into_iter().chain(error.hints());
    told.collect::<Vec<_>>().join("; ").replace('\n', "; ")
}

impl fmt::Debug for ServedDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedDesk").field("project", &self.project).finish_non_exhaustive()
    }
}
