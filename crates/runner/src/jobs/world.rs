//! All jobs of a project, performed by one process.

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

/// Jobs that are performed here, by their names. Clones are the same ones.
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
    /// What jobs were before, as far as it is still being performed.
    before: Vec<ScriptWorld>,
}

impl JobsWorld {
    /// Performs these; the lock files of their runs are in `runs`.
    pub fn new(jobs: BTreeMap<String, ScriptWorld>, runs: PathBuf) -> Self {
        let jobs = Mutex::new(Jobs { now: jobs, before: Vec::new() });
        Self(Arc::new(Shared { jobs, runs: Runs::new(runs) }))
    }

    /// From now on these are performed like this. What is being performed goes on as it is, and one
    /// that is not among them is still brought to its end.
    pub fn change(&self, jobs: BTreeMap<String, ScriptWorld>) {
        let mut known = lock(&self.0.jobs);
        for (name, job) in jobs {
            let before = known.now.insert(name, job);
            known.before.extend(before);
        }
        known.before.retain(|job| !job.performing().is_empty());
    }

    /// Ends everything that is running, and returns when it is gone.
    pub async fn end(&self) {
        for job in self.all() {
            job.end().await;
        }
    }

    fn all(&self) -> Vec<ScriptWorld> {
        let known = lock(&self.0.jobs);
        known.now.values().chain(&known.before).cloned().collect()
    }

    /// Whoever performs an effect already, or else the job as it is now.
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
            // Somebody else knows it.
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
