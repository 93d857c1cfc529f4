//! The job a command is: found by its name, made where there is none, fired once.

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
pub(super) fn spec(name: &str, phase: Option<Phase>) -> TaskSpec {
    let (program, arguments) = name.split_at(name.find(' ').unwrap_or(name.len()));
    let file = Path::new(program).file_name();
    let title = file.map_or(program.into(), |file| file.to_string_lossy()) + arguments;
    let title = title.into_owned();
    let (name, goal) = (name.to_owned(), name.to_owned());
    let (phase, job) = (phase.map(Into::into), Some(JobSpec::default()));
    TaskSpec { name, title, goal, phase, job, ..TaskSpec::default() }
}

/// The job with this name, performed by `world` as soon as no other process performs it, and fired
/// unless a firing of it waits to be taken up. None where another process still performs it after
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
    // From here on it is ours, and whoever had it before has left it like this; unless what is over
    // is what we have just done ourselves.
    redefine(seat, repair).await?;
    seat.attach(Scope::Task(task), Arc::new(world.clone())).await?;
    let may_begin = job::find(seat, name).await?.is_none_or(|known| known.may_begin);
    if may_begin && !world.has_begun() {
        seat.command(Command::FireJob { task }).await?;
    }
    Ok(Some(task))
}

/// A job of the settings is what they say. Any other is repaired as it is asked for this time;
/// everything else about it stays.
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
