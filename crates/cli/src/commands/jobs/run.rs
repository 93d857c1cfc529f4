//! `unstuck jobs run`: runs a job now, in the watcher or in this process.

use std::sync::Arc;

use unstuck_core::engine::Command;
use unstuck_core::plan::JobSpec;
use unstuck_core::time::Span;
use unstuck_runner::ScriptPerformer;
use unstuck_store::Store;
use unstuck_world::process::IdleGuard;

use super::defined::{ConfiguredJobs, ScriptFactory, find_job_rows, job_care, job_logs, job_spec};
use super::watch;
use crate::commands::exec::{
    self, JobEnding, JobRepair, JobReporter, MessageFormat, follow_until_end,
};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, EndSignals, LocalProject, ProjectSession};
use crate::render;
use crate::settings::JobSettings;

pub(super) fn run(
    project: &LocalProject,
    name: &str,
    max_wait: Option<Span>,
    saying: MessageFormat,
) -> Result<Exit, CliError> {
    let defined = ConfiguredJobs::from_project(project)?;
    let job = defined.find(name)?;
    project::create_runtime()?.block_on(async {
        let store = project.open_or_create_store()?;
        let wanted = JobRun { project, store: &store, job, saying, max_wait };
        if watch::find_watcher(project).is_some()
            && let Some(exit) = wanted.run_in_watcher().await?
        {
            return Ok(exit);
        }
        wanted.run_here().await
    })
}

struct JobRun<'a> {
    project: &'a LocalProject,
    store: &'a Arc<dyn Store>,
    job: &'a JobSettings,
    saying: MessageFormat,
    max_wait: Option<Span>,
}

impl JobRun<'_> {
    /// Runs the job in this process, as `exec` does; its output is passed through.
    async fn run_here(&self) -> Result<Exit, CliError> {
        let workshop = ScriptFactory::open(self.project)?;
        let script = workshop.create_script(self.project, self.job)?;
        let ahead = IdleGuard::start_ahead(None, &workshop.guard);
        let world =
            ScriptPerformer::with_options(script, ahead, job_care(self.project, self.job, false));
        // Its schedule does not apply here, so it is retried like any command, and then a question is
        // asked.
        let mut spec = job_spec(self.job, &workshop.redactor);
        spec.job = spec.job.map(|job| JobSpec { scheduled: false, ..job });
        let repair = JobRepair::for_job(self.project, self.job, spec, &workshop.guard).await?;
        let teller = self.create_reporter();
        let job = exec::JobFollower {
            project: self.project,
            store: self.store,
            repair: &repair,
            world: &world,
            teller: &teller,
        };
        Ok(match job.follow_until_stopped(self.max_wait).await? {
            Ok(ending) => ending.to_exit(),
            Err(at_once) => at_once.to_exit(),
        })
    }

    /// Lets the watcher run the job, and follows it; returns `None` if the watcher ended meanwhile.
    async fn run_in_watcher(&self) -> Result<Option<Exit>, CliError> {
        let name = self.job.name.as_str();
        let mut signals = EndSignals::new()?;
        let mut session = ProjectSession::open(self.project, self.store, "jobs run").await?;
        let Some(row) = find_job_rows(self.store.as_ref(), self.project.name()).await?.remove(name)
        else {
            // The job was added a moment ago, and the watcher does not know it yet.
            session.leave().await?;
            return Ok(None);
        };
        session.submit_command(Command::FireJob { task: row.id }).await?;
        // A job that is always due is run again at once, so its state alone never says that it is done.
        let wanted = (row.id, Some(row.moved.firing + 1));
        let teller = self.create_reporter();
        let ending = tokio::select! {
            biased;
            // The job belongs to the watcher, and goes on after a signal.
            signal = signals.next() => Some(JobEnding::Signal(signal)),
            () = watch::wait_until_watcher_gone(self.project) => None,
            ending = follow_until_end(&mut session, wanted, &teller, self.max_wait) => ending?,
        };
        session.leave().await?;
        let Some(ending) = ending else { return Ok(None) };
        if self.saying == MessageFormat::Words {
            let rows = find_job_rows(self.store.as_ref(), self.project.name()).await?;
            let firing = rows.get(name).map_or(row.moved.firing, |row| row.moved.firing);
            let file = job_logs(self.project, name).log_path(firing);
            let file = file.strip_prefix(self.project.root()).unwrap_or(&file);
            render::write_note(&format!("unstuck: its output is in {}", file.display()));
        }
        Ok(Some(ending.to_exit()))
    }

    fn create_reporter(&self) -> JobReporter {
        let teller = JobReporter::new(self.saying, Arc::clone(self.store), self.project);
        teller.for_job(self.job.name.as_str())
    }
}
