//! Looks up and defines jobs of the project by name.

use std::sync::Arc;

use unstuck_core::engine::{Command, Event, TaskId};
use unstuck_core::plan::TaskSpec;
use unstuck_runner::{KnownJob, StateQuery, StateQueryResult};

use super::seat::ProjectSession;
use crate::error::CliError;

/// Returns the job with this name.
pub(crate) async fn find_job(
    seat: &ProjectSession,
    name: &str,
) -> Result<Option<KnownJob>, CliError> {
    match seat.query_state(StateQuery::Job { name: name.to_owned() }).await? {
        StateQueryResult::Job(found) => Ok(found),
        _ => Ok(None),
    }
}

/// Returns the job with the name of `spec`, and defines it if there is none. If another process defines it
/// at the same time, that job is returned.
pub(crate) async fn find_or_define_job(
    seat: &ProjectSession,
    spec: &TaskSpec,
) -> Result<TaskId, CliError> {
    if let Some(known) = find_job(seat, &spec.name).await? {
        return Ok(known.task);
    }
    match define_job(seat, spec.clone()).await {
        Ok(task) => Ok(task),
        Err(error) => match find_job(seat, &spec.name).await? {
            Some(known) => Ok(known.task),
            None => Err(error),
        },
    }
}

/// Defines a job, or changes its definition.
pub(crate) async fn define_job(seat: &ProjectSession, spec: TaskSpec) -> Result<TaskId, CliError> {
    let name = spec.name.clone();
    let events = seat.submit_command(Command::DefineJob { spec: Arc::new(spec) }).await?;
    let defined = events.iter().find_map(|recorded| match &recorded.event {
        Event::JobDefined { task, .. } => Some(*task),
        _ => None,
    });
    defined.ok_or(CliError::Unknown { what: "job", name, list: "unstuck status" })
}
