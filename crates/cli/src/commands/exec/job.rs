//! The job of a command: found by its name, defined if there is none, fired once.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Command, TaskId};
use unstuck_core::plan::{JobSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_core::time::Span;
use unstuck_runner::{KnownJob, Scope, ScriptWorld};

use super::repair::Repair;
use super::tell::Teller;
use crate::error::Error;
use crate::project::{Project, Seat, job};
use crate::settings::Phase;

/// Returns the name of a command without one: the command line, shortened.
pub(super) fn name(command: &[OsString]) -> String {
    const CHARACTERS_MAX: usize = 80;
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let whole = words.join(" ");
    match whole.char_indices().nth(CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…", &whole[..at]),
        None => whole,
    }
}

/// Returns the job definition for the engine.
pub(super) fn spec(name: &str, phase: Option<Phase>) -> TaskSpec {
    let (program, arguments) = name.split_at(name.find(' ').unwrap_or(name.len()));
    let file = Path::new(program).file_name();
    let title = file.map_or(program.into(), |file| file.to_string_lossy()) + arguments;
    let title = title.into_owned();
    let (name, goal) = (name.to_owned(), name.to_owned());
    let phase = phase.map(Into::into);
    let job = Some(JobSpec::default());
    TaskSpec { name, title, goal, phase, job, ..TaskSpec::default() }
}

/// Takes up the job with this name: waits until no other process performs it, attaches `world`, and fires
/// it unless a firing waits to be continued. Returns `None` if another process still performs it after
/// `max_wait`.
pub(super) async fn take_up(
    seat: &Seat,
    project: &Project,
    repair: &Repair,
    world: &ScriptWorld,
    teller: &Teller,
    max_wait: Option<Span>,
) -> Result<Option<TaskId>, Error> {
    let spec = &repair.spec;
    let name = &spec.name;
    let task = job::make(seat, spec).await?;
    let unusable = |source| Error::Folder { place: project.runs().display().to_string(), source };
    if !world.try_take_turn(task).map_err(unusable)? {
        teller.in_line(name);
        let taking = world.take_turn(task);
        match max_wait {
            None => taking.await.map_err(unusable)?,
            Some(max_wait) => match tokio::time::timeout(max_wait.into(), taking).await {
                Ok(taken) => taken.map_err(unusable)?,
                Err(_) => {
                    teller.still_in_line(name);
                    return Ok(None);
                }
            },
        }
    }
    // The turn is held from here on, so the state is final from the previous process; except that an ended
    // firing may be the one that this process has just performed.
    redefine(seat, repair).await?;
    seat.attach(Scope::Task(task), Arc::new(world.clone())).await?;
    let may_begin = job::find(seat, name).await?.is_none_or(|known| known.may_begin);
    if may_begin && !world.has_begun() {
        seat.command(Command::FireJob { task }).await?;
    }
    Ok(Some(task))
}

/// Updates the definition of the job. A job of the settings is replaced as a whole; for any other only the
/// repair settings of this call are applied.
async fn redefine(seat: &Seat, repair: &Repair) -> Result<(), Error> {
    let spec = &repair.spec;
    let Some(KnownJob { spec: known, .. }) = job::find(seat, &spec.name).await? else {
        return Ok(());
    };
    let wanted = if repair.is_defined {
        spec.clone()
    } else {
        let overrides = Overrides { repairs: spec.overrides.repairs, ..known.overrides };
        TaskSpec { job: spec.job, gate: spec.gate, overrides, ..TaskSpec::clone(&known) }
    };
    if wanted != *known {
        job::define(seat, wanted).await?;
    }
    Ok(())
}
