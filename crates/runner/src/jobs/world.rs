//! The worker of all jobs of a project, in one process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, TaskId};

use crate::lock::lock;
use crate::runs::Runs;
use crate::script::ScriptWorld;
use crate::world::{Order, Report, World};

/// The jobs that this process performs, by name. Clones share their state.
#[derive(Clone, Debug)]
pub struct JobsWorld(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    jobs: Mutex<Jobs>,
    runs: Runs,
}

#[derive(Debug, Default)]
struct Jobs {
    now: BTreeMap<String, ScriptWorld>,
    /// Earlier definitions of jobs that are still being performed.
    before: Vec<ScriptWorld>,
}

impl JobsWorld {
    /// Creates the worker of these jobs; the lock files of their runs are in `runs`.
    pub fn new(jobs: BTreeMap<String, ScriptWorld>, runs: PathBuf) -> Self {
        let jobs = Mutex::new(Jobs { now: jobs, before: Vec::new() });
        Self(Arc::new(Shared { jobs, runs: Runs::new(runs) }))
    }

    /// Replaces the definitions of these jobs. Running effects continue unchanged, and a job that
    /// is not among them is still completed.
    pub fn change(&self, jobs: BTreeMap<String, ScriptWorld>) {
        let mut known = lock(&self.0.jobs);
        for (name, job) in jobs {
            let before = known.now.insert(name, job);
            known.before.extend(before);
        }
        known.before.retain(|job| !job.performing().is_empty());
    }

    /// Stops all running effects, and returns when they are gone.
    pub async fn end(&self) {
        for job in self.all() {
            job.end().await;
        }
    }

    fn all(&self) -> Vec<ScriptWorld> {
        let known = lock(&self.0.jobs);
        known.now.values().chain(&known.before).cloned().collect()
    }

    /// Returns the definition that performs an effect already, or else the current one.
    fn performer(&self, order: &Order) -> Option<ScriptWorld> {
        let known = lock(&self.0.jobs);
        let performs = |job: &&ScriptWorld| job.performing().contains(&order.effect.id);
        let job = known.before.iter().find(performs);
        job.or_else(|| known.now.get(&order.task.name)).cloned()
    }
}

#[async_trait]
impl World for JobsWorld {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        match self.performer(&order) {
            Some(job) => job.perform(order, stop).await,
            // The job is not defined in this process.
            None => None,
        }
    }

    fn performing(&self) -> Vec<EffectId> {
        self.all().iter().flat_map(World::performing).collect()
    }

    async fn clear(&self, tasks: &[TaskId]) {
        let never = CancellationToken::new();
        for task in tasks {
            self.0.runs.clear(*task, &never).await;
        }
    }
}
