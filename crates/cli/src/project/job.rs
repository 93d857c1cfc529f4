//! Looks up and defines jobs of the project by name.

use std::sync::Arc;

use unstuck_core::engine::{Command, Event, TaskId};
use unstuck_core::plan::TaskSpec;
use unstuck_runner::{KnownJob, Look, Looked};

use super::seat::Seat;
use crate::error::Error;

/// Returns the job with this name.
pub(crate) async fn find(seat: &Seat, name: &str) -> Result<Option<KnownJob>, Error> {
    match seat.look(Look::Job { name: name.to_owned() }).await? {
        Looked::Job(found) => Ok(found),
        _ => Ok(None),
    }
}

/// Returns the job with the name of `spec`, and defines it if there is none. If another process defines it
/// at the same time, that job is returned.
pub(crate) async fn make(seat: &Seat, spec: &TaskSpec) -> Result<TaskId, Error> {
    if let Some(known) = find(seat, &spec.name).await? {
        return Ok(known.task);
    }
    match define(seat, spec.clone()).await {
        Ok(task) => Ok(task),
        Err(error) => match find(seat, &spec.name).await? {
            Some(known) => Ok(known.task),
            None => Err(error),
        },
    }
}

/// Defines a job, or changes its definition.
pub(crate) async fn define(seat: &Seat, spec: TaskSpec) -> Result<TaskId, Error> {
    let name = spec.name.clone();
    let events = seat.command(Command::DefineJob { spec: Arc::new(spec) }).await?;
    let defined = events.iter().find_map(|recorded| match &recorded.event {
        Event::JobDefined { task, .. } => Some(*task),
        _ => None,
    });
    defined.ok_or(Error::Unknown { what: "job", name, list: "unstuck status" })
}
