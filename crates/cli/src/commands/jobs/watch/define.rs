//! Defines the jobs of the settings in the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use unstuck_core::engine::Command;
use unstuck_core::plan::TaskSpec;
use unstuck_runner::control::ClientError;
use unstuck_runner::{Decider, Undecided};
use unstuck_store::Store;
use unstuck_store::tables::TaskRow;

use super::super::defined::find_rows;
use super::ready::Ready;
use crate::error::Error;
use crate::project::{Project, Seat};

/// Maximum number of concurrent requests.
const ASKED_MAX: usize = 256;

/// Defines all jobs that are new or changed; returns the state of all, by name.
pub(super) async fn all(
    ready: &Ready,
    seat: &Seat,
    store: &Arc<dyn Store>,
    project: &Project,
) -> Result<BTreeMap<String, TaskRow>, Error> {
    let find = || find_rows(store.as_ref(), project.name());
    let known = find().await?;
    let is_new = |spec: &&TaskSpec| known.get(&spec.name).is_none_or(|row| *row.spec != **spec);
    let decider = seat.decider();
    let mut asked = JoinSet::new();
    for spec in ready.specs().filter(is_new) {
        if asked.len() >= ASKED_MAX {
            defined(asked.join_next().await)?;
        }
        asked.spawn(define(Arc::clone(&decider), spec.clone()));
    }
    while let Some(done) = asked.join_next().await {
        defined(Some(done))?;
    }
    let mut rows = find().await?;
    let names: BTreeSet<&str> = ready.specs().map(|spec| spec.name.as_str()).collect();
    rows.retain(|name, _| names.contains(name.as_str()));
    Ok(rows)
}

async fn define(decider: Arc<dyn Decider>, spec: TaskSpec) -> Result<(), Undecided> {
    match decider.command(Command::DefineJob { spec: Arc::new(spec) }).await {
        // Another process defined it first.
        Err(Undecided::Refused(_)) => Ok(()),
        said => said.map(drop),
    }
}

fn defined(done: Option<Result<Result<(), Undecided>, JoinError>>) -> Result<(), Error> {
    match done {
        Some(Ok(Err(Undecided::Store(fault)))) => Err(Error::Fault(fault)),
        Some(Ok(Err(_)) | Err(_)) => Err(ClientError::Gone.into()),
        Some(Ok(Ok(()))) | None => Ok(()),
    }
}
