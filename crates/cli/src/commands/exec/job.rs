//! The job a command is: found by its name, made where there is none, fired once.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Command, Event, State, TaskId};
use unstuck_core::plan::{JobSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::{Scope, ScriptWorld};
use unstuck_store::Store;

use super::tell::Teller;
use crate::error::Error;
use crate::project::{Project, Seat};

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

/// The job with this name, performed by `world` as soon as nobody else performs it, and fired unless
/// a firing of it waits to be taken up.
pub(super) async fn take_up(
    seat: &Seat,
    store: &Arc<dyn Store>,
    project: &Project,
    name: &str,
    world: &ScriptWorld,
    teller: &Teller,
) -> Result<TaskId, Error> {
    let task = match find(seat, store, project, name).await? {
        Some((task, _)) => task,
        None => make(seat, store, project, name).await?,
    };
    let unusable = |source| Error::Folder { place: project.runs().display().to_string(), source };
    if !world.try_take_turn(task).map_err(unusable)? {
        teller.in_line(name);
        world.take_turn(task).await.map_err(unusable)?;
    }
    seat.attach(Scope::Task(task), Arc::new(world.clone())).await?;
    // From here on it is ours, and whoever had it before has left it like this; unless what is over
    // is what we have just done ourselves.
    let is_over = find(seat, store, project, name).await?.is_none_or(|(_, is_over)| is_over);
    if is_over && !world.has_begun() {
        seat.command(Command::FireJob { task }).await?;
    }
    Ok(task)
}

/// Has the job be what the settings say it is.
pub(super) async fn redefine(seat: &Seat, spec: &TaskSpec) -> Result<(), Error> {
    match seat.command(Command::DefineJob { spec: Arc::new(spec.clone()) }).await {
        // It is that already.
        Err(error) if super::super::control::said_no(&error).is_some() => Ok(()),
        defined => defined.map(drop),
    }
}

/// Somebody else may make it at the same time: then theirs is as good.
async fn make(
    seat: &Seat,
    store: &Arc<dyn Store>,
    project: &Project,
    name: &str,
) -> Result<TaskId, Error> {
    match define(seat, name).await {
        Ok(task) => Ok(task),
        Err(error) => match find(seat, store, project, name).await? {
            Some((task, _)) => Ok(task),
            None => Err(error),
        },
    }
}

/// The job with this name, and whether its last firing came to its end. Whoever holds the project
/// has it in memory; others read the tables.
async fn find(
    seat: &Seat,
    store: &Arc<dyn Store>,
    project: &Project,
    name: &str,
) -> Result<Option<(TaskId, bool)>, Error> {
    match seat.holder() {
        Some(handle) => {
            let name = name.to_owned();
            Ok(handle.look(move |state| find_in(state, &name)).await?)
        }
        None => find_in_tables(store, project, name).await,
    }
}

fn find_in(state: &State, name: &str) -> Option<(TaskId, bool)> {
    let standing = state.builds().find(|build| build.standing)?.id;
    let known = state.tasks().find(|task| task.build == standing && task.spec.name == name)?;
    Some((known.id, known.state.has_ended()))
}

async fn find_in_tables(
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
