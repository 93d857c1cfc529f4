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

/// What a command is to the engine.
pub(super) fn spec(name: &str) -> TaskSpec {
    let title = Path::new(name.split(' ').next().unwrap_or(name));
    let title = title.file_name().unwrap_or(title.as_os_str()).to_string_lossy().into_owned();
    let (name, goal) = (name.to_owned(), name.to_owned());
    TaskSpec { name, title, goal, job: Some(JobSpec::default()), ..TaskSpec::default() }
}

/// The job with this name, performed by `world` as soon as nobody else performs it, and fired unless
/// a firing of it waits to be taken up.
pub(super) async fn take_up(
    seat: &Seat,
    store: &Arc<dyn Store>,
    project: &Project,
    spec: &TaskSpec,
    world: &ScriptWorld,
    teller: &Teller,
) -> Result<TaskId, Error> {
    let name = &spec.name;
    let task = match find(seat, store, project, name).await? {
        Some(known) => known.task,
        None => make(seat, store, project, spec).await?,
    };
    let unusable = |source| Error::Folder { place: project.runs().display().to_string(), source };
    if !world.try_take_turn(task).map_err(unusable)? {
        teller.in_line(name);
        world.take_turn(task).await.map_err(unusable)?;
    }
    // From here on it is ours, and whoever had it before has left it like this; unless what is over
    // is what we have just done ourselves.
    redefine(seat, store, project, spec).await?;
    seat.attach(Scope::Task(task), Arc::new(world.clone())).await?;
    let is_over = find(seat, store, project, name).await?.is_none_or(|known| known.is_over);
    if is_over && !world.has_begun() {
        seat.command(Command::FireJob { task }).await?;
    }
    Ok(task)
}

/// Somebody else may make it at the same time: then theirs is as good.
async fn make(
    seat: &Seat,
    store: &Arc<dyn Store>,
    project: &Project,
    spec: &TaskSpec,
) -> Result<TaskId, Error> {
    match define(seat, spec.clone()).await {
        Ok(task) => Ok(task),
        Err(error) => match find(seat, store, project, &spec.name).await? {
            Some(known) => Ok(known.task),
            None => Err(error),
        },
    }
}

/// It is repaired as it is asked for this time; everything else about a job that is known stays.
async fn redefine(
    seat: &Seat,
    store: &Arc<dyn Store>,
    project: &Project,
    spec: &TaskSpec,
) -> Result<(), Error> {
    let Some(Known { spec: known, .. }) = find(seat, store, project, &spec.name).await? else {
        return Ok(());
    };
    let overrides = Overrides { repairs: spec.overrides.repairs, ..known.overrides };
    let wanted = TaskSpec { job: spec.job, gate: spec.gate, overrides, ..TaskSpec::clone(&known) };
    if wanted != *known {
        define(seat, wanted).await?;
    }
    Ok(())
}

/// A job that is there.
struct Known {
    task: TaskId,
    /// Its last firing came to its end.
    is_over: bool,
    spec: Arc<TaskSpec>,
}

/// The job with this name. Whoever holds the project has it in memory; others read the tables.
async fn find(
    seat: &Seat,
    store: &Arc<dyn Store>,
    project: &Project,
    name: &str,
) -> Result<Option<Known>, Error> {
    match seat.holder() {
        Some(handle) => {
            let name = name.to_owned();
            Ok(handle.look(move |state| find_in(state, &name)).await?)
        }
        None => find_in_tables(store, project, name).await,
    }
}

fn find_in(state: &State, name: &str) -> Option<Known> {
    let standing = state.builds().find(|build| build.standing)?.id;
    let known = state.tasks().find(|task| task.build == standing && task.spec.name == name)?;
    let (is_over, spec) = (known.state.has_ended(), Arc::clone(&known.spec));
    Some(Known { task: known.id, is_over, spec })
}

async fn find_in_tables(
    store: &Arc<dyn Store>,
    project: &Project,
    name: &str,
) -> Result<Option<Known>, Error> {
    let builds = store.builds(project.name()).await?;
    let Some(standing) = builds.iter().find(|build| build.standing) else { return Ok(None) };
    let tasks = store.tasks(project.name(), standing.id).await?;
    let known = tasks.into_iter().find(|task| task.spec.name == name);
    Ok(known.map(|row| Known {
        task: row.id,
        is_over: row.moved.state.has_ended(),
        spec: row.spec,
    }))
}

async fn define(seat: &Seat, spec: TaskSpec) -> Result<TaskId, Error> {
    let name = spec.name.clone();
    let events = seat.command(Command::DefineJob { spec: Arc::new(spec) }).await?;
    let defined = events.iter().find_map(|recorded| match &recorded.event {
        Event::JobDefined { task, .. } => Some(*task),
        _ => None,
    });
    defined.ok_or(Error::Unknown { what: "job", name, list: "unstuck status" })
}
