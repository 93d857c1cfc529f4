//! The worker of all jobs of a project, in one process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, TaskId};

use super::script_performer::ScriptPerformer;
use crate::effects::{EffectRequest, EffectResult, Performer, RunLocks, lock_unpoisoned};

/// The jobs that this process performs, by name. Clones share their state.
#[derive(Clone, Debug)]
pub struct JobsPerformer(Arc<JobsState>);

#[derive(Debug)]
struct JobsState {
    jobs: Mutex<JobDefinitions>,
    runs: RunLocks,
}

#[derive(Debug, Default)]
struct JobDefinitions {
    now: BTreeMap<String, ScriptPerformer>,
    /// Earlier definitions of jobs that are still being performed.
    before: Vec<ScriptPerformer>,
}

impl JobsPerformer {
    /// Creates the worker of these jobs; the lock files of their runs are in `runs`.
    pub fn new(jobs: BTreeMap<String, ScriptPerformer>, runs: PathBuf) -> Self {
        let jobs = Mutex::new(JobDefinitions { now: jobs, before: Vec::new() });
        Self(Arc::new(JobsState { jobs, runs: RunLocks::new(runs) }))
    }

    /// Replaces the definitions of these jobs. Running effects continue unchanged, and a job that
    /// is not among them is still completed.
    pub fn replace_jobs(&self, jobs: BTreeMap<String, ScriptPerformer>) {
        let mut known = lock_unpoisoned(&self.0.jobs);
        for (name, job) in jobs {
            let before = known.now.insert(name, job);
            known.before.extend(before);
        }
        known.before.retain(|job| !job.running_effects().is_empty());
    }

    /// Stops all running effects, and returns when they are gone.
    pub async fn stop_effects(&self) {
        for job in self.all_performers() {
            job.stop_effects().await;
        }
    }

    fn all_performers(&self) -> Vec<ScriptPerformer> {
        let known = lock_unpoisoned(&self.0.jobs);
        known.now.values().chain(&known.before).cloned().collect()
    }

    /// Returns the definition that performs an effect already, or else the current one.
    fn find_performer(&self, order: &EffectRequest) -> Option<ScriptPerformer> {
        let known = lock_unpoisoned(&self.0.jobs);
        let performs = |job: &&ScriptPerformer| job.running_effects().contains(&order.effect.id);
        let job = known.before.iter().find(performs);
        job.or_else(|| known.now.get(&order.task.name)).cloned()
    }
}

#[async_trait]
impl Performer for JobsPerformer {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        match self.find_performer(&order) {
            Some(job) => job.perform_effect(order, stop).await,
            // The job is not defined in this process.
            None => None,
        }
    }

    fn running_effects(&self) -> Vec<EffectId> {
        self.all_performers().iter().flat_map(Performer::running_effects).collect()
    }

    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        self.0.runs.reap_tasks(tasks).await;
    }
}
