//! The host of a served project: passes requests to its decider.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Mutex, MutexGuard, watch};
use unstuck_core::engine::{Command, CommandIssuer, RecordedEvent};
use unstuck_core::policy::Policy;
use unstuck_runner::notify::{ChannelTestResult, send_test_messages};
use unstuck_runner::{Decider, StateQuery, StateQueryResult};
use unstuck_server::{
    BuildStartRequest, JobOverview, OrderedBuild, ProjectHost, ProjectHostError,
    ProjectRegistration, QuestionAudience, ReadinessError,
};
use unstuck_store::Store;
use unstuck_world::redact::Redactor;

use crate::build::PreflightConcern;
use crate::commands::builds::{
    BuildWorkers, OtherPerformers, PerformedBuilds, goal_task, load_open_builds, project_tasks,
};
use crate::commands::jobs;
use crate::error::CliError;
use crate::project::{self, LocalProject, ProjectConnection, project_redactor};
use crate::render;
use crate::settings::InboxAudienceSetting;

/// Maximum time that a request waits while the holder changes, which takes a moment.
const PATIENCE: Duration = Duration::from_secs(5);
/// Minimum free disk space, enough to write the store, its log and an answer.
const FREE_BYTES_MIN: u64 = 16 * 1024 * 1024;

pub(super) struct ServedProjectHost {
    project: LocalProject,
    store: Arc<dyn Store>,
    redactor: Arc<Redactor>,
    policy: Arc<Policy>,
    /// Set if the scheduled jobs must run, here or in another process.
    keeps_jobs: bool,
    /// The connection to the decider; `None` while the holder changes.
    connection: watch::Sender<Option<ProjectConnection>>,
    performing: Mutex<PerformedBuilds>,
}

impl ServedProjectHost {
    pub(super) fn new(project: LocalProject, store: Arc<dyn Store>) -> Result<Self, CliError> {
        let redactor = project_redactor(&project);
        let policy = Arc::new(project.settings()?.policy.clone());
        let connection = watch::Sender::new(None);
        let performing = Mutex::new(PerformedBuilds::new(&project));
        Ok(Self { project, store, redactor, policy, keeps_jobs: false, connection, performing })
    }

    pub(super) fn to_registration(self: &Arc<Self>) -> ProjectRegistration {
        ProjectRegistration {
            name: Arc::clone(self.project.name()),
            store: Arc::clone(&self.store),
            host: Arc::clone(self) as _,
            audience: question_audience(&self.project),
        }
    }

    /// Requires that the jobs of the project run as long as it is served.
    pub(super) fn with_jobs(self) -> Self {
        Self { keeps_jobs: true, ..self }
    }

    /// Sends requests and the reports of performed builds to this decider from now on.
    pub(super) async fn connect(&self, connection: &ProjectConnection) -> Result<(), CliError> {
        self.lock_performing().await.move_to(connection).await?;
        self.connection.send_replace(Some(connection.clone()));
        Ok(())
    }

    /// Makes requests wait until there is a decider again.
    pub(super) fn disconnect(&self) {
        self.connection.send_replace(None);
    }

    pub(super) async fn lock_performing(&self) -> MutexGuard<'_, PerformedBuilds> {
        self.performing.lock().await
    }

    async fn wait_for_connection(&self) -> Result<ProjectConnection, ProjectHostError> {
        let mut seated = self.connection.subscribe();
        let waited = tokio::time::timeout(PATIENCE, seated.wait_for(Option::is_some)).await;
        waited.ok().and_then(|seated| seated.ok()?.clone()).ok_or(ProjectHostError::ChangingHands)
    }

    fn has_jobs(&self) -> bool {
        jobs::ConfiguredJobs::from_project(&self.project)
            .is_ok_and(|defined| !defined.all().is_empty())
    }

    /// Checks the disk, the settings and the lock of the watcher; may block on the disk.
    fn check_machine(&self) -> Result<(), ReadinessError> {
        let full = |disk: rustix::fs::StatVfs| {
            disk.f_bavail.saturating_mul(disk.f_frsize) < FREE_BYTES_MIN
        };
        if rustix::fs::statvfs(self.project.unstuck_folder()).is_ok_and(full) {
            return Err(ReadinessError::Disk);
        }
        if self.keeps_jobs && self.has_jobs() && jobs::find_watcher(&self.project).is_none() {
            return Err(ReadinessError::Jobs);
        }
        Ok(())
    }

    async fn wait_for_decider(&self) -> Result<Arc<dyn Decider>, ProjectHostError> {
        Ok(self.wait_for_connection().await?.decider())
    }
}

#[async_trait]
impl ProjectHost for ServedProjectHost {
    async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<RecordedEvent>, ProjectHostError> {
        let decided = self.wait_for_decider().await?.submit_command(command).await?;
        Ok(decided.iter().map(|recorded| (**recorded).clone()).collect())
    }

    async fn start_build(
        &self,
        work: BuildStartRequest,
        issuer: CommandIssuer,
    ) -> Result<OrderedBuild, ProjectHostError> {
        // The task files or the tree may have changed since; the build exists all the same.
        if let Some(build) = self.find_started_build(&issuer).await? {
            return Ok(OrderedBuild { build, warnings: Vec::new() });
        }
        let malformed = |error: CliError| ProjectHostError::Malformed(render_error_line(&error));
        let not_now = |error: CliError| ProjectHostError::NotNow(render_error_line(&error));
        // A build has the settings of the moment at which it is ordered.
        let project = self.project.reload_settings().map_err(not_now)?;
        let tasks = match work {
            BuildStartRequest::Goal(words) => goal_task(&project, words),
            BuildStartRequest::Files(paths) => project_tasks(&project, &paths).await,
        };
        let tasks = tasks.map_err(malformed)?;
        let settings = project.settings().map_err(not_now)?;
        let workers = BuildWorkers::create(&project, (*settings).clone()).await.map_err(not_now)?;
        let plan = workers.complete_plan(tasks).map_err(malformed)?;
        let concerns = workers.check_plan(&plan).await.map_err(not_now)?;
        let mut warnings: Vec<String> = concerns.iter().map(PreflightConcern::to_line).collect();
        warnings.extend(workers.missing_remote().await.map_err(not_now)?);
        workers.require_free_branch(&self.store).await.map_err(not_now)?;
        let build = self.submit_build_start(workers.start_command(plan), issuer).await?;
        for warning in &warnings {
            render::write_note(&format!("unstuck: {build}: {warning}"));
        }
        // The build is on disk: the next holder finds it, whatever happens now.
        let open = load_open_builds(&self.project, &self.store).await.map_err(not_now)?;
        let connection = self.wait_for_connection().await?;
        let mut performing = self.lock_performing().await;
        performing.release_ended(&open);
        let performed = workers
            .perform_builds(
                &mut performing,
                &connection,
                &self.store,
                &[build],
                OtherPerformers::LeftAlone,
            )
            .await;
        performed.map_err(not_now)?;
        Ok(OrderedBuild { build, warnings })
    }

    async fn take_answers(&self) -> Result<bool, ProjectHostError> {
        let own = self
            .connection
            .borrow()
            .clone()
            .filter(|connection| connection.holder_handle().is_some());
        let taken = match own {
            Some(connection) => connection.take_answers().await,
            // The holder may have changed since this process connected to it.
            None => project::take_answers(&self.project).await,
        };
        taken.map_err(|_| ProjectHostError::ChangingHands)
    }

    fn redact_text(&self, text: &str) -> Arc<str> {
        Arc::from(&*self.redactor.redact_text(text))
    }

    async fn look_up(&self, look: StateQuery) -> Result<StateQueryResult, ProjectHostError> {
        Ok(self.wait_for_decider().await?.query_state(look).await?)
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy)
    }

    async fn list_jobs(&self) -> Result<Vec<JobOverview>, ProjectHostError> {
        let told = jobs::list_job_states(&self.project, Some(self.store.as_ref())).await;
        told.map_err(|error| ProjectHostError::NotNow(error.to_string()))
    }

    async fn test_notifications(&self) -> Result<Vec<ChannelTestResult>, ProjectHostError> {
        let channels = project::open_channels(&self.project);
        let channels = channels.map_err(|error| ProjectHostError::NotNow(error.to_string()))?;
        Ok(send_test_messages(self.project.name(), &channels, project::now()).await)
    }

    async fn check_ready(&self) -> Result<(), ReadinessError> {
        self.check_machine()?;
        // The lookup is arbitrary; only a response counts.
        let anything = StateQuery::Job { name: String::new() };
        let answers = async {
            self.wait_for_decider()
                .await?
                .query_state(anything)
                .await
                .map_err(ProjectHostError::from)
        };
        match tokio::time::timeout(PATIENCE, answers).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(ReadinessError::Holder),
        }
    }
}

/// Returns the audience of a project's questions, from its settings.
fn question_audience(project: &LocalProject) -> QuestionAudience {
    match project.settings().map(|resolved| resolved.settings.inbox.audience) {
        Ok(InboxAudienceSetting::Plain) => QuestionAudience::Plain,
        Ok(InboxAudienceSetting::Developer) | Err(_) => QuestionAudience::Developer,
    }
}

/// Formats an error and its hints on one line.
pub(super) fn render_error_line(error: &CliError) -> String {
    let told = [error.to_string()].into_iter().chain(error.hints());
    told.collect::<Vec<_>>().join("; ").replace('\n', "; ")
}

impl fmt::Debug for ServedProjectHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedProjectHost").field("project", &self.project).finish_non_exhaustive()
    }
}
