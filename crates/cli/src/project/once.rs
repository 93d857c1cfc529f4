//! One irreversible action for the project itself: a job of its own, performed here, decided by
//! whoever holds the project.

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;
use unstuck_core::engine::{Command, TaskId, TaskState};
use unstuck_core::plan::{MutationSpec, TaskSpec};
use unstuck_runner::control::ClientError;
use unstuck_runner::{
    Action, ActionJob, CommandError, Look, Looked, Prober, Scope, Settled, Turns, Undecided,
};
use unstuck_world::process::Turn;

use super::folder::Project;
use super::job;
use super::seat::Seat;
use crate::error::Error;

/// What is to be done once.
pub(crate) struct Once {
    /// What whoever wants the project meanwhile is told of us.
    pub(crate) verb: &'static str,
    /// The job that it is.
    pub(crate) job: TaskSpec,
    /// The action.
    pub(crate) spec: MutationSpec,
    /// How it is performed.
    pub(crate) action: Arc<dyn Action>,
    /// How it is looked up by the command that is kept with it.
    pub(crate) prober: Prober,
}

/// What came of it.
pub(crate) type Came = Arc<Result<Settled, Undecided>>;

/// Has it done, or finds out what came of it. `belongs` hears which task it is before anything runs.
pub(crate) async fn perform(
    project: &Project,
    once: Once,
    belongs: impl Fn(TaskId),
) -> Result<Came, Error> {
    let store = project.make_store()?;
    let mut turn = None;
    loop {
        let seat = Seat::take(project, &store, once.verb).await?;
        match attempt(&seat, project, &once, (&mut turn, &belongs)).await {
            // Whoever held the project is gone, and what we do goes on.
            Ok(None) => {}
            Err(error) if seat.is_left_by(&error) => {}
            Ok(Some(settled)) => {
                seat.leave().await?;
                return Ok(settled);
            }
            Err(error) => return Err(error),
        }
    }
}

/// The same from a seat that somebody has taken already.
pub(crate) async fn perform_at(seat: &Seat, project: &Project, once: Once) -> Result<Came, Error> {
    let came = attempt(seat, project, &once, (&mut None, &|_| {})).await?;
    came.ok_or_else(|| ClientError::Gone.into())
}

/// None when whoever held the project is gone. Whoever else wants the same thing done waits for the
/// turn until we know.
async fn attempt(
    seat: &Seat,
    project: &Project,
    once: &Once,
    (turn, belongs): (&mut Option<Turn>, &dyn Fn(TaskId)),
) -> Result<Option<Came>, Error> {
    let task = job::make(seat, &once.job).await?;
    belongs(task);
    if turn.is_none() {
        *turn = Some(Turns::new(project.runs()).take(task).await?);
    }
    follow(seat, task, once).await
}

/// Performs the job until it rests: it is over, or a person has to say what became of its action.
async fn follow(seat: &Seat, task: TaskId, once: &Once) -> Result<Option<Came>, Error> {
    let Once { spec, action, prober, .. } = once;
    let mut notices = seat.watch().await?;
    let (world, said) =
        ActionJob::new(seat.decider(), spec.clone(), Arc::clone(action), prober.clone());
    seat.attach(Scope::Task(task), Arc::new(world)).await?;
    if stands(seat, task).await?.is_none_or(|state| state.has_ended()) {
        seat.command(Command::FireJob { task }).await?;
    }
    loop {
        match stands(seat, task).await? {
            Some(TaskState::Parked { .. }) => return Ok(Some(Arc::new(Ok(Settled::NeedsPerson)))),
            Some(state) if !state.has_ended() => {}
            _ => {
                let ended = || Arc::new(Err(Undecided::Refused("it was ended".to_owned())));
                return Ok(Some(said.borrow().clone().unwrap_or_else(ended)));
            }
        }
        tokio::select! {
            biased;
            notice = notices.recv() => if let Err(RecvError::Closed) = notice {
                return Err(CommandError::Ended.into());
            },
            () = seat.left() => return Ok(None),
        }
    }
}

async fn stands(seat: &Seat, task: TaskId) -> Result<Option<TaskState>, Error> {
    match seat.look(Look::Stands { task }).await? {
        Looked::Stands(state) => Ok(state),
        _ => Ok(None),
    }
}
