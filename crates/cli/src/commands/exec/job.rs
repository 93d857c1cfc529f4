//! Keeps a job alive: it is found by its name, defined if there is none, fired once and followed to its end.

use std::sync::Arc;

use unstuck_core::engine::{Command, TaskId};
use unstuck_core::plan::TaskSpec;
use unstuck_core::policy::Overrides;
use unstuck_core::time::Span;
use unstuck_runner::{KnownJob, PerformScope, ScriptPerformer};
use unstuck_store::Store;

use super::repair::JobRepair;
use super::tell::JobReporter;
use super::wait::{JobEnding, follow_until_end};
use crate::error::CliError;
use crate::project::{self, EndSignal, EndSignals, LocalProject, ProjectSession};

pub(in crate::commands) struct JobFollower<'a> {
    pub(in crate::commands) project: &'a LocalProject,
    pub(in crate::commands) store: &'a Arc<dyn Store>,
    pub(in crate::commands) repair: &'a JobRepair,
    pub(in crate::commands) world: &'a ScriptPerformer,
    pub(in crate::commands) teller: &'a JobReporter,
}

impl JobFollower<'_> {
    /// Follows the job to its end or to the first signal; a second signal is returned as the error, for an
    /// immediate exit.
    pub(in crate::commands) async fn follow_until_stopped(
        &self,
        max_wait: Option<Span>,
    ) -> Result<Result<JobEnding, EndSignal>, CliError> {
        let mut signals = EndSignals::new()?;
        let mut session = None;
        let ending = tokio::select! {
            biased;
            signal = signals.next() => {
                self.teller.report_ending();
                JobEnding::Signal(signal)
            }
            ending = self.follow_to_end(&mut session, max_wait) => ending?,
        };
        tokio::select! {
            biased;
            at_once = signals.next() => return Ok(Err(at_once)),
            left = self.leave(session) => left?,
        }
        Ok(Ok(ending))
    }

    /// Follows the job to its end, as the holder of the project or as a guest of it.
    async fn follow_to_end(
        &self,
        place: &mut Option<ProjectSession>,
        max_wait: Option<Span>,
    ) -> Result<JobEnding, CliError> {
        let Self { project, store, repair, world, teller } = *self;
        let follow = async |session: &mut ProjectSession| {
            repair.attach_to(world, session, store, project);
            let taken = take_up_job(session, project, repair, world, teller, max_wait).await?;
            let Some(task) = taken else { return Ok(Some(JobEnding::Busy)) };
            follow_until_end(session, (task, None), teller, max_wait).await
        };
        project::with_session(project, store, "exec", place, follow).await
    }

    /// Leaves the project and ends all processes of the job.
    async fn leave(&self, session: Option<ProjectSession>) -> Result<(), CliError> {
        project::leave_session(session).await?;
        self.world.stop_effects().await;
        Ok(())
    }
}

/// Takes up the job with this name: waits until no other process performs it, attaches `world`, and fires
/// it unless a firing waits to be continued. Returns `None` if another process still performs it after
/// `max_wait`.
async fn take_up_job(
    session: &ProjectSession,
    project: &LocalProject,
    repair: &JobRepair,
    world: &ScriptPerformer,
    teller: &JobReporter,
    max_wait: Option<Span>,
) -> Result<Option<TaskId>, CliError> {
    let spec = &repair.spec;
    let name = &spec.name;
    let task = session.find_or_define_job(spec).await?;
    let runs = project.runs_folder();
    let unusable = CliError::unusable(&runs);
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
    // The lock is held from here on, so the state is final from the previous process; except that an ended
    // firing may be the one that this process has just performed.
    update_definition(session, repair).await?;
    session.attach_performer(PerformScope::Task(task), Arc::new(world.clone())).await?;
    let may_begin = session.find_job(name).await?.is_none_or(|known| known.may_begin);
    if may_begin && !world.has_begun() {
        session.submit_command(Command::FireJob { task }).await?;
    }
    Ok(Some(task))
}

/// Updates the definition of the job. A job of the settings is replaced as a whole; for any other only the
/// repair settings of this call are applied.
async fn update_definition(session: &ProjectSession, repair: &JobRepair) -> Result<(), CliError> {
    let spec = &repair.spec;
    let Some(KnownJob { spec: known, .. }) = session.find_job(&spec.name).await? else {
        return Ok(());
    };
    let wanted = if repair.is_defined {
        spec.clone()
    } else {
        let overrides = Overrides { repairs: spec.overrides.repairs, ..known.overrides };
        TaskSpec { job: spec.job, gate: spec.gate, overrides, ..TaskSpec::clone(&known) }
    };
    if wanted != *known {
        session.define_job(wanted).await?;
    }
    Ok(())
}
