//! The job of a command: found by its name, defined if there is none, fired once.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{Command, TaskId};
use unstuck_core::plan::{JobSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_core::time::Span;
use unstuck_runner::{KnownJob, PerformScope, ScriptPerformer};

use super::repair::JobRepair;
use super::tell::JobReporter;
use crate::error::CliError;
use crate::project::{LocalProject, ProjectSession, job};
use crate::settings::Phase;

/// Returns the name of a command without one: the command line, shortened.
pub(super) fn command_name(command: &[OsString]) -> String {
    const CHARACTERS_MAX: usize = 80;
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let whole = words.join(" ");
    match whole.char_indices().nth(CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…", &whole[..at]),
        None => whole,
    }
}

/// Returns the job definition for the engine.
pub(super) fn job_spec(name: &str, phase: Option<Phase>) -> TaskSpec {
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
pub(super) async fn take_up_job(
    seat: &ProjectSession,
    project: &LocalProject,
    repair: &JobRepair,
    world: &ScriptPerformer,
    teller: &JobReporter,
    max_wait: Option<Span>,
) -> Result<Option<TaskId>, CliError> {
    let spec = &repair.spec;
    let name = &spec.name;
    let task = job::find_or_define_job(seat, spec).await?;
    let unusable =
        |source| CliError::Folder { place: project.runs_folder().display().to_string(), source };
    if !world.try_lock_task(task).map_err(unusable)? {
        teller.report_queued(name);
        let taking = world.lock_task(task);
        match max_wait {
            None => taking.await.map_err(unusable)?,
            Some(max_wait) => match tokio::time::timeout(max_wait.into(), taking).await {
                Ok(taken) => taken.map_err(unusable)?,
                Err(_) => {
                    teller.report_still_queued(name);
                    return Ok(None);
                }
            },
        }
    }
    // The turn is held from here on, so the state is final from the previous process; except that an ended
    // firing may be the one that this process has just performed.
    update_definition(seat, repair).await?;
    seat.attach_performer(PerformScope::Task(task), Arc::new(world.clone())).await?;
    let may_begin = job::find_job(seat, name).await?.is_none_or(|known| known.may_begin);
    if may_begin && !world.has_begun() {
        seat.submit_command(Command::FireJob { task }).await?;
    }
    Ok(Some(task))
}

/// Updates the definition of the job. A job of the settings is replaced as a whole; for any other only the
/// repair settings of this call are applied.
async fn update_definition(seat: &ProjectSession, repair: &JobRepair) -> Result<(), CliError> {
    let spec = &repair.spec;
    let Some(KnownJob { spec: known, .. }) = job::find_job(seat, &spec.name).await? else {
        return Ok(());
    };
    let wanted = if repair.is_defined {
        spec.clone()
    } else {
        let overrides = Overrides { repairs: spec.overrides.repairs, ..known.overrides };
        TaskSpec { job: spec.job, gate: spec.gate, overrides, ..TaskSpec::clone(&known) }
    };
    if wanted != *known {
        job::define_job(seat, wanted).await?;
    }
    Ok(())
}
