//! Defines the jobs of the settings in the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use unstuck_core::engine::Command;
use unstuck_core::plan::TaskSpec;
use unstuck_runner::control::ClientError;
use unstuck_runner::{DecideError, Decider};
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;

use super::super::defined::find_job_rows;
use super::ready::PreparedJobs;
use crate::error::CliError;
use crate::project::{LocalProject, ProjectSession};

/// Maximum number of concurrent requests.
const ASKED_MAX: usize = 256;

/// Defines all jobs that are new or changed; returns the state of all, by name.
pub(super) async fn define_jobs(
    ready: &PreparedJobs,
    seat: &ProjectSession,
    store: &Arc<dyn Store>,
    project: &LocalProject,
) -> Result<BTreeMap<String, TaskRow>, CliError> {
    let find = || find_job_rows(store.as_ref(), project.name());
    let known = find().await?;
    let is_new = |spec: &&TaskSpec| known.get(&spec.name).is_none_or(|row| *row.spec != **spec);
    let decider = seat.decider();
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
