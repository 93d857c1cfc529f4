//! The job a command is: found by its name, made where there is none, fired once.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Command, Event, TaskId};
use unstuck_core::plan::{JobSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::{Scope, ScriptWorld};
use unstuck_store::Store;

use super::seat::Seat;
use crate::error::Error;
use crate::project::Project;

/// What a command is called that was given no name: as it would be typed, shortened.
pub(super) fn name(command: &[OsString]) -> String {
    const CHARACTERS_MAX: usize = 80;
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let whole = words.join(" ");
    match whole.char_indices().nth(CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…", &whole[..at]),
        None => whole,
    }
}

/// The job with this name, performed by `world` from now on, and fired unless a firing of it waits
/// to be taken up.
pub(super) async fn take_up(
    seat: &Seat,
    store: &Arc<dyn Store>,
    project: &Project,
    name: &str,
    world: &ScriptWorld,
) -> Result<TaskId, Error> {
    let (task, is_over) = match find(store, project, name).await? {
        Some(known) => known,
        None => (define(seat, name).await?, true),
    };
    seat.attach(Scope::Task(task), Arc::new(world.clone())).await?;
    if is_over {
        seat.command(Command::FireJob { task }).await?;
    }
    Ok(task)
}

/// The job with this name, and whether its last firing came to its end.
async fn find(
    store: &Arc<dyn Store>,
    project: &Project,
    name: &str,
) -> Result<Option<(TaskId, bool)>, Error> {
    let builds = store.builds(project.name()).await?;
    let Some(standing) = builds.iter().find(|build| build.standing) else { return Ok(None) };
    let tasks = store.tasks(project.name(), standing.id).await?;
    let known = tasks.iter().find(|task| task.spec.name == name);
    Ok(known.map(|task| (task.id, task.moved.state.has_ended())))
}

async fn define(seat: &Seat, name: &str) -> Result<TaskId, Error> {
    let title = Path::new(name.split(' ').next().unwrap_or(name));
    let title = title.file_name().unwrap_or(title.as_os_str()).to_string_lossy().into_owned();
    let spec = TaskSpec {
        name: name.to_owned(),
        title,
        goal: name.to_owned(),
        job: Some(JobSpec::default()),
        // Nobody is there who could repair it.
        overrides: Overrides { repairs: Some(0), ..Overrides::default() },
        ..TaskSpec::default()
    };
    let events = seat.command(Command::DefineJob { spec: Arc::new(spec) }).await?;
    let defined = events.iter().find_map(|recorded| match &recorded.event {
        Event::JobDefined { task, .. } => Some(*task),
        _ => None,
    });
    defined.ok_or_else(|| Error::Unknown {
        what: "job",
        name: name.to_owned(),
        list: "unstuck status",
    })
}
