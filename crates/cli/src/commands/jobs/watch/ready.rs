//! The jobs of the settings, ready to run.

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_core::plan::TaskSpec;
use unstuck_runner::ScriptWorld;
use unstuck_store::Store;

use super::super::defined::{Defined, Workshop, care, spec};
use crate::commands::exec::Repair;
use crate::error::Error;
use crate::project::{Project, Seat};
use crate::settings::Job;

/// The jobs of one version of the settings, ready to run.
pub(super) struct Ready {
    /// The project with these settings.
    project: Project,
    defined: Defined,
    /// The jobs by name.
    jobs: BTreeMap<String, ReadyJob>,
}

/// A job that is ready to run.
struct ReadyJob {
    job: Job,
    world: ScriptWorld,
    repair: Repair,
}

impl Ready {
    /// Prepares the jobs of the settings of `project`.
    pub(super) async fn of(project: &Project) -> Result<Self, Error> {
        Self::after(project.clone(), &BTreeMap::new()).await
    }

    /// Loads the settings again; returns `None` if they are the same. The world of an unchanged job is
    /// kept.
    pub(super) async fn again(&self) -> Result<Option<Self>, Error> {
        let project = self.project.read_again()?;
        if project.settings()?.settings == self.project.settings()?.settings {
            return Ok(None);
        }
        Self::after(project, &self.jobs).await.map(Some)
    }

    async fn after(project: Project, before: &BTreeMap<String, ReadyJob>) -> Result<Self, Error> {
        let defined = Defined::read(&project)?;
        let workshop = Workshop::open(&project)?;
        let mut jobs = BTreeMap::new();
        for job in defined.all() {
            let name = job.name.as_str();
            let same = before.get(name).filter(|before| before.job == *job);
            let world = match same {
                Some(before) => before.world.clone(),
                None => {
                    let script = workshop.script(&project, job)?;
                    ScriptWorld::caring(script, None, care(&project, job, true))
                }
            };
            let spec = spec(job, &workshop.redactor);
            let repair = Repair::of_job(&project, job, spec, &workshop.guard).await?;
            jobs.insert(name.to_owned(), ReadyJob { job: job.clone(), world, repair });
        }
        Ok(Self { project, defined, jobs })
    }

    pub(super) fn all(&self) -> &[Job] {
        self.defined.all()
    }

    pub(super) fn specs(&self) -> impl Iterator<Item = &TaskSpec> {
        self.jobs.values().map(|ready| &ready.repair.spec)
    }

    /// Returns the worlds of the jobs for which `meant` is true.
    pub(super) fn worlds(&self, meant: impl Fn(&String) -> bool) -> BTreeMap<String, ScriptWorld> {
        let meant = self.jobs.iter().filter(|(name, _)| meant(name));
        meant.map(|(name, ready)| (name.clone(), ready.world.clone())).collect()
    }

    /// Repairs the scripts of the jobs from now on, with the decider of this seat.
    pub(super) fn attach_repairs(&self, seat: &Seat, store: &Arc<dyn Store>) {
        for ReadyJob { world, repair, .. } in self.jobs.values() {
            repair.attach(world, seat, store, &self.project);
        }
    }

    /// Returns the differences from earlier jobs.
    pub(super) fn since(&self, before: &Self) -> Difference {
        let now = &self.jobs;
        let then = &before.jobs;
        let names = |of: &mut dyn Iterator<Item = &String>| of.cloned().collect();
        let differs = |name: &&String| then.get(*name).is_some_and(|was| was.job != now[*name].job);
        Difference {
            added: names(&mut now.keys().filter(|name| !then.contains_key(*name))),
            changed: names(&mut now.keys().filter(differs)),
            gone: names(&mut then.keys().filter(|name| !now.contains_key(*name))),
        }
    }
}

/// Differences between two versions of the jobs.
pub(super) struct Difference {
    pub(super) added: Vec<String>,
    pub(super) changed: Vec<String>,
    pub(super) gone: Vec<String>,
}

impl Difference {
    /// Returns whether a job is new or changed.
    pub(super) fn concerns(&self, name: &String) -> bool {
        self.added.contains(name) || self.changed.contains(name)
    }
}

impl std::fmt::Display for Difference {
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
