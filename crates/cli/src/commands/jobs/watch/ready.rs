//! The jobs of the settings, ready to run and defined in the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use unstuck_core::engine::Command;
use unstuck_core::plan::TaskSpec;
use unstuck_runner::control::ClientError;
use unstuck_runner::{DecideError, Decider, ScriptPerformer};
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;

use crate::commands::exec::JobRepair;
use crate::commands::jobs::defined::{
    ConfiguredJobs, ScriptFactory, find_job_rows, job_care, job_spec,
};
use crate::error::CliError;
use crate::project::{LocalProject, ProjectSession};
use crate::settings::JobSettings;

/// The jobs of one version of the settings, ready to run.
pub(super) struct PreparedJobs {
    /// The project with these settings.
    project: LocalProject,
    defined: ConfiguredJobs,
    jobs: BTreeMap<String, PreparedJob>,
}

struct PreparedJob {
    job: JobSettings,
    world: ScriptPerformer,
    repair: JobRepair,
}

impl PreparedJobs {
    pub(super) async fn prepare(project: &LocalProject) -> Result<Self, CliError> {
        Self::prepare_after(project.clone(), &BTreeMap::new()).await
    }

    /// Loads the settings again; returns `None` if they are the same. The world of an unchanged job is
    /// kept.
    pub(super) async fn reload(&self) -> Result<Option<Self>, CliError> {
        let project = self.project.reload_settings()?;
        if project.settings()?.settings == self.project.settings()?.settings {
            return Ok(None);
        }
        Self::prepare_after(project, &self.jobs).await.map(Some)
    }

    async fn prepare_after(
        project: LocalProject,
        before: &BTreeMap<String, PreparedJob>,
    ) -> Result<Self, CliError> {
        let defined = ConfiguredJobs::from_project(&project)?;
        let workshop = ScriptFactory::open(&project)?;
        let mut jobs = BTreeMap::new();
        for job in defined.all() {
            let name = job.name.as_str();
            let same = before.get(name).filter(|before| before.job == *job);
            let world = match same {
                Some(before) => before.world.clone(),
                None => {
                    let script = workshop.create_script(&project, job)?;
                    ScriptPerformer::with_options(script, None, job_care(&project, job, true))
                }
            };
            let spec = job_spec(job, &workshop.redactor);
            let repair = JobRepair::for_job(&project, job, spec, &workshop.guard).await?;
            jobs.insert(name.to_owned(), PreparedJob { job: job.clone(), world, repair });
        }
        Ok(Self { project, defined, jobs })
    }

    pub(super) fn all(&self) -> &[JobSettings] {
        self.defined.all()
    }

    pub(super) fn specs(&self) -> impl Iterator<Item = &TaskSpec> {
        self.jobs.values().map(|ready| &ready.repair.spec)
    }

    /// Returns the worlds of the jobs for which `meant` is true.
    pub(super) fn worlds(
        &self,
        meant: impl Fn(&String) -> bool,
    ) -> BTreeMap<String, ScriptPerformer> {
        let meant = self.jobs.iter().filter(|(name, _)| meant(name));
        meant.map(|(name, ready)| (name.clone(), ready.world.clone())).collect()
    }

    /// Repairs the scripts of the jobs from now on, with the decider of this session.
    pub(super) fn attach_repairs(&self, session: &ProjectSession, store: &Arc<dyn Store>) {
        for PreparedJob { world, repair, .. } in self.jobs.values() {
            repair.attach_to(world, session, store, &self.project);
        }
    }

    pub(super) fn difference_from(&self, before: &Self) -> JobsDifference {
        let now = &self.jobs;
        let then = &before.jobs;
        let names = |of: &mut dyn Iterator<Item = &String>| of.cloned().collect();
        let differs = |name: &&String| then.get(*name).is_some_and(|was| was.job != now[*name].job);
        JobsDifference {
            added: names(&mut now.keys().filter(|name| !then.contains_key(*name))),
            changed: names(&mut now.keys().filter(differs)),
            gone: names(&mut then.keys().filter(|name| !now.contains_key(*name))),
        }
    }
}

pub(super) struct JobsDifference {
    pub(super) added: Vec<String>,
    pub(super) changed: Vec<String>,
    pub(super) gone: Vec<String>,
}

impl JobsDifference {
    pub(super) fn is_new_or_changed(&self, name: &String) -> bool {
        self.added.contains(name) || self.changed.contains(name)
    }
}

impl std::fmt::Display for JobsDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { added, changed, gone } = self;
        let named = [("new", added), ("changed", changed), ("gone", gone)];
        let named = named.into_iter().filter(|(_, names)| !names.is_empty());
        let said: Vec<String> =
            named.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect();
        match said.as_slice() {
            [] => f.write_str("the settings have changed"),
            said => write!(f, "the settings have changed; {}", said.join("; ")),
        }
    }
}

/// Maximum number of concurrent requests.
const ASKED_MAX: usize = 256;

/// Defines all jobs that are new or changed; returns the state of all, by name.
pub(super) async fn define_jobs(
    ready: &PreparedJobs,
    session: &ProjectSession,
    store: &Arc<dyn Store>,
    project: &LocalProject,
) -> Result<BTreeMap<String, TaskRow>, CliError> {
    let find = || find_job_rows(store.as_ref(), project.name());
    let known = find().await?;
    let is_new = |spec: &&TaskSpec| known.get(&spec.name).is_none_or(|row| *row.spec != **spec);
    let decider = session.decider();
    let mut asked = JoinSet::new();
    for spec in ready.specs().filter(is_new) {
        if asked.len() >= ASKED_MAX {
            check_defined(asked.join_next().await)?;
        }
        asked.spawn(define_job(Arc::clone(&decider), spec.clone()));
    }
    while let Some(done) = asked.join_next().await {
        check_defined(Some(done))?;
    }
    let mut rows = find().await?;
    let names: BTreeSet<&str> = ready.specs().map(|spec| spec.name.as_str()).collect();
    rows.retain(|name, _| names.contains(name.as_str()));
    Ok(rows)
}

async fn define_job(decider: Arc<dyn Decider>, spec: TaskSpec) -> Result<(), DecideError> {
    match decider.submit_command(Command::DefineJob { spec: Arc::new(spec) }).await {
        // Another process defined it first.
        Err(DecideError::Refused(_)) => Ok(()),
        said => said.map(drop),
    }
}

fn check_defined(done: Option<Result<Result<(), DecideError>, JoinError>>) -> Result<(), CliError> {
    match done {
        Some(Ok(Err(DecideError::Store(fault)))) => Err(CliError::Fault(fault)),
        Some(Ok(Err(_)) | Err(_)) => Err(ClientError::Gone.into()),
        Some(Ok(Ok(()))) | None => Ok(()),
    }
}
