//! The jobs of the settings, in the form for the engine and the runner.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use jiff::tz::TimeZone;
use unstuck_core::nearest::find_nearest;
use unstuck_core::plan::{JobSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::control::TokenKey;
use unstuck_runner::jobs::{JobLogs, JobOptions, JobTimetable, Schedule};
use unstuck_runner::{ResultFiles, ScriptCommand};
use unstuck_store::tables::TaskRow;
use unstuck_store::{Store, StoreError};
use unstuck_world::process::{GuardCommand, OwnInput};
use unstuck_world::redact::Redactor;

use crate::error::{CliError, JobsError, ScriptError};
use crate::project::{LocalProject, project_redactor};
use crate::settings::{JobSettings, ResolvedSettings};

/// Maximum length of a title that is taken from a goal.
const TITLE_CHARS_MAX: usize = 60;

pub(crate) struct ConfiguredJobs {
    settings: Arc<ResolvedSettings>,
}

impl ConfiguredJobs {
    pub(crate) fn from_project(project: &LocalProject) -> Result<Self, CliError> {
        Ok(Self { settings: project.settings()? })
    }

    pub(crate) fn all(&self) -> &[JobSettings] {
        &self.settings.settings.job
    }

    pub(crate) fn find(&self, name: &str) -> Result<&JobSettings, CliError> {
        let name = name.trim();
        let found = self.all().iter().find(|job| job.name.as_str() == name);
        found.ok_or_else(|| {
            let names = self.all().iter().map(|job| job.name.as_str());
            let near = find_nearest(name, names).into_iter().map(str::to_owned).collect();
            JobsError::NoSuchJob { name: name.to_owned(), near }.into()
        })
    }
}

/// Returns all jobs that were ever defined here, by name.
pub(crate) async fn find_job_rows(
    store: &dyn Store,
    project: &str,
) -> Result<BTreeMap<String, TaskRow>, StoreError> {
    let builds = store.load_builds(project).await?;
    let Some(standing) = builds.iter().find(|build| build.standing) else {
        return Ok(BTreeMap::new());
    };
    let rows = store.load_build_tasks(project, standing.id).await?;
    Ok(rows.into_iter().map(|row| (row.spec.name.clone(), row)).collect())
}

/// Returns the job for the engine. The command stays in the settings, because it may contain secrets.
pub(super) fn job_spec(job: &JobSettings, redactor: &Redactor) -> TaskSpec {
    let name = job.name.as_str();
    let goal = job.goal.as_deref().map(|goal| redactor.redact_text(goal).into_owned());
    let title = goal.as_deref().and_then(goal_title).unwrap_or_else(|| name.to_owned());
    TaskSpec {
        name: name.to_owned(),
        title,
        goal: goal.unwrap_or_else(|| name.to_owned()),
        validate: (!job.validate.is_empty()).then(|| job.validate.clone()),
        phase: job.phase.map(Into::into),
        // The repair settings are added by `Repair`.
        job: Some(JobSpec { scheduled: job.schedule.is_some(), ..JobSpec::default() }),
        overrides: Overrides {
            budget: job.budget.map(crate::settings::FiringBudget::to_amount),
            alert_firings: job.alert_after.map(|after| after.firings),
            alert_after_ms: job.alert_after.map(|after| after.time.0),
            ..Overrides::default()
        },
        ..TaskSpec::default()
    }
}

/// Returns the first line of a goal as a title, if it is short enough.
fn goal_title(goal: &str) -> Option<String> {
    let line = goal.lines().find(|line| !line.trim().is_empty())?;
    let line = line.trim().trim_start_matches('#').trim().trim_end_matches('.');
    (!line.is_empty() && line.chars().count() <= TITLE_CHARS_MAX).then(|| line.to_owned())
}

/// Returns the timetable of a job with a schedule, counted from its last firing or its definition.
pub(super) fn job_timetable(job: &JobSettings, row: &TaskRow) -> Option<JobTimetable> {
    let last = row.moved.fired_at.unwrap_or(row.moved.changed_at);
    let zone = job_zone(job);
    let schedule = job_schedule(job)?.clone();
    Some(JobTimetable { schedule, zone, last, held: row.moved.held })
}

pub(super) fn job_schedule(job: &JobSettings) -> Option<&Schedule> {
    job.schedule.as_ref().map(|when| &when.0)
}

pub(super) fn job_zone(job: &JobSettings) -> TimeZone {
    job.time_zone.as_ref().map_or_else(TimeZone::system, |zone| zone.0.clone())
}

pub(super) struct ScriptFactory {
    pub(super) guard: GuardCommand,
    pub(super) key: TokenKey,
    pub(super) redactor: Arc<Redactor>,
}

impl ScriptFactory {
    pub(super) fn open(project: &LocalProject) -> Result<Self, CliError> {
        let key = project.open_token_key()?;
        let redactor = project_redactor(project);
        Ok(Self { guard: crate::project::own_guard()?, key, redactor })
    }

    pub(super) fn create_script(
        &self,
        project: &LocalProject,
        job: &JobSettings,
    ) -> Result<ScriptCommand, CliError> {
        let mut words = job.run.to_words().into_iter().map(OsString::from);
        let program = words.next().ok_or(ScriptError::NoCommand)?;
        let folder = job.directory.as_deref().unwrap_or(".");
        Ok(ScriptCommand {
            guard: self.guard.clone(),
            runs: project.runs_folder(),
            program,
            arguments: words.collect(),
            directory: project.root().join(folder),
            input: OwnInput::default(),
            timeout: job.timeout.map(|timeout| timeout.0.into()),
            socket: project.socket_path(),
            key: self.key.clone(),
            results: ResultFiles::new(project.results_folder()),
            redactor: Arc::clone(&self.redactor),
        })
    }
}

/// Returns the care of a job beside its script; with `logs`, its output is stored, because it is not shown.
pub(super) fn job_care(project: &LocalProject, job: &JobSettings, logs: bool) -> JobOptions {
    let check = job.check.as_ref();
    JobOptions {
        check: check.map(|check| check.to_words().into_iter().map(OsString::from).collect()),
        logs: logs.then(|| job_logs(project, job.name.as_str())),
    }
}

pub(super) fn job_logs(project: &LocalProject, name: &str) -> JobLogs {
    JobLogs::new(project.job_logs_folder().join(name))
}
