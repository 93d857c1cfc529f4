//! All jobs of a project, performed by one process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, TaskId};

use crate::runs::Runs;
use crate::script::ScriptWorld;
use crate::world::{Order, Report, World};

/// Jobs that are performed here, by their names. Clones are the same ones.
#[derive(Clone, Debug)]
pub struct JobsWorld(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    jobs: BTreeMap<String, ScriptWorld>,
    runs: Runs,
}

impl JobsWorld {
    /// Performs these; the lock files of their runs are in `runs`.
    pub fn new(jobs: BTreeMap<String, ScriptWorld>, runs: PathBuf) -> Self {
        Self(Arc::new(Shared { jobs, runs: Runs::new(runs) }))
    }

    /// Ends everything that is running, and returns when it is gone.
    pub async fn end(&self) {
        for job in self.0.jobs.values() {
            job.end().await;
        }
    }
}

#[async_trait]
impl World for JobsWorld {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        match self.0.jobs.get(&order.task.name) {
            Some(job) => job.perform(order, stop).await,
            // Somebody else knows it.
            None => None,
        }
    }

    fn performing(&self) -> Vec<EffectId> {
        self.0.jobs.values().flat_map(World::performing).collect()
    }

    async fn clear(&self, tasks: &[TaskId]) {
        let never = CancellationToken::new();
        for task in tasks {
            self.0.runs.clear(*task, &never).await;
        }
    }
}
