//! A single irreversible action for the project itself: a job of its own, performed by this process and
//! decided by the holder.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Command, MutationState, QuestionId, Rejected, TaskId, TaskState};
use unstuck_core::plan::{MutationSpec, TaskSpec};
use unstuck_runner::control::ClientError;
use unstuck_runner::{
    Action, ActionJob, CommandError, HeldBy, Look, Looked, Prober, Scope, Settled, Turns, Undecided,
};
use unstuck_world::process::Turn;

use super::folder::Project;
use super::job;
use super::seat::Seat;
use crate::error::Error;

/// An action that is to be performed once.
pub(crate) struct Once {
    /// The verb that other processes see while this one holds the project.
    pub(crate) verb: &'static str,
    /// The job of the action.
    pub(crate) job: TaskSpec,
    pub(crate) spec: MutationSpec,
    /// The implementation of the action.
    pub(crate) action: Arc<dyn Action>,
    /// The probe that runs the lookup command stored with the action.
    pub(crate) prober: Prober,
}

/// The result of the action.
pub(crate) type Came = Arc<Result<Settled, Undecided>>;

/// The reason why an action waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// Another process performs the same action.
    SameAction,
    /// A lookup determines whether the action happened.
    Checking,
    /// `SameAction` or `Checking`, where it cannot be determined which.
    Unsettled,
    /// A person paused all jobs.
    Paused,
    /// All jobs wait until this question is answered.
    Question(QuestionId),
}

/// A wait for an action, with its current reason and a way to end it.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    hindrance: Mutex<Option<Hindrance>>,
    over: CancellationToken,
}

impl Patience {
    /// Returns the current reason of the wait.
    pub(crate) fn hindrance(&self) -> Option<Hindrance> {
        *self.hindrance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waits_for(&self, hindrance: Option<Hindrance>) {
        *self.hindrance.lock().unwrap_or_else(PoisonError::into_inner) = hindrance;
    }

    /// Ends the wait.
    pub(crate) fn give_up(&self, hindrance: Hindrance) {
        self.waits_for(Some(hindrance));
        self.over.cancel();
    }

    /// Returns when the wait is given up.
    pub(crate) async fn over(&self) {
        self.over.cancelled().await;
    }
}

/// The outcome of following an action.
enum Followed {
    /// The action is settled, or needs a person.
    Settled(Came),
    /// The holder is gone, and the action goes on.
    HolderGone,
    /// The wait was given up.
    GivenUp,
}

/// Performs the action, or determines its result; returns `None` if `patience` ended first. `belongs`
/// receives the task before anything runs.
pub(crate) async fn perform(
    project: &Project,
    once: Once,
    belongs: impl Fn(TaskId),
    patience: &Patience,
) -> Result<Option<Came>, Error> {
    let store = project.make_store()?;
    let mut turn = None;
    loop {
        let seat = Seat::take(project, &store, once.verb).await?;
        let came = match attempt(&seat, project, &once, (&mut turn, &belongs, patience)).await {
            Ok(Followed::HolderGone) => continue,
            Err(error) if seat.is_left_by(&error) => continue,
            Ok(Followed::Settled(settled)) => Some(settled),
            Ok(Followed::GivenUp) => None,
            Err(error) => return Err(error),
        };
        seat.leave().await?;
        return Ok(came);
    }
}

/// Performs the action from a seat that is already taken, without a time limit.
pub(crate) async fn perform_at(seat: &Seat, project: &Project, once: Once) -> Result<Came, Error> {
    let patience = Patience::default();
    match attempt(seat, project, &once, (&mut None, &|_| {}, &patience)).await? {
        Followed::Settled(came) => Ok(came),
        Followed::HolderGone | Followed::GivenUp => Err(ClientError::Gone.into()),
    }
}

/// Follows the action to its result. Other processes with the same action wait for the turn until the
/// result is known; a settled key needs no turn.
async fn attempt(
    seat: &Seat,
    project: &Project,
    once: &Once,
    (turn, belongs, patience): (&mut Option<Turn>, &dyn Fn(TaskId), &Patience),
) -> Result<Followed, Error> {
    if let Some(came) = settled_before(seat, &once.spec).await? {
        return Ok(Followed::Settled(came));
    }
    let task = job::make(seat, &once.job).await?;
    belongs(task);
    if turn.is_none() {
        let turns = Turns::new(project.runs());
        *turn = turns.try_take(task)?;
        if turn.is_none() {
            patience.waits_for(Some(Hindrance::SameAction));
            tokio::select! {
                taken = turns.take(task) => *turn = Some(taken?),
                () = patience.over() => return Ok(Followed::GivenUp),
            }
            patience.waits_for(None);
        }
    }
    follow(seat, task, once, patience).await
}

/// Returns the earlier result of the action, if it is final.
async fn settled_before(seat: &Seat, spec: &MutationSpec) -> Result<Option<Came>, Error> {
    let look = Look::PermanentAction { key: spec.key.clone() };
    let known = match seat.look(look).await? {
        Looked::PermanentAction(Some(known)) if spec.permanent => known,
        _ => return Ok(None),
    };
    if known.arguments != spec.arguments {
        let reused = Rejected::KeyReused(spec.key.clone()).to_string();
        return Ok(Some(Arc::new(Err(Undecided::KeyReused(reused)))));
    }
    let settled = match known.state {
        MutationState::Applied { result } => Settled::Applied(result),
        MutationState::Skipped => Settled::Skipped,
        MutationState::Intended
        | MutationState::InFlight { .. }
        | MutationState::Probing { .. }
        | MutationState::Settling { .. }
        | MutationState::Indeterminate
        | MutationState::NotApplied => return Ok(None),
    };
    Ok(Some(Arc::new(Ok(settled))))
}

/// Returns the reason why the action of a task is currently not performed or settled.
async fn find_hindrance(seat: &Seat, task: TaskId, key: &str) -> Result<Option<Hindrance>, Error> {
    match seat.look(Look::Held { task }).await? {
        Looked::Held(Some(HeldBy::Person)) => return Ok(Some(Hindrance::Paused)),
        Looked::Held(Some(HeldBy::Question(question))) => {
            return Ok(Some(Hindrance::Question(question)));
        }
        _ => {}
    }
    let Looked::Intent(Some(intent)) =
        seat.look(Look::Intent { task, key: key.to_owned() }).await?
    else {
        return Ok(None);
    };
    Ok(match intent.state {
        MutationState::Probing { .. } | MutationState::Settling { .. } => Some(Hindrance::Checking),
        MutationState::InFlight { .. } if !intent.own => Some(Hindrance::SameAction),
        _ => None,
    })
}

/// Performs the job until it has ended, or until a person has to tell the result of its action.
async fn follow(
    seat: &Seat,
    task: TaskId,
    once: &Once,
    patience: &Patience,
) -> Result<Followed, Error> {
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
            Some(TaskState::Parked { .. }) => {
                return Ok(Followed::Settled(Arc::new(Ok(Settled::NeedsPerson))));
            }
            Some(state) if !state.has_ended() => {}
            _ => {
                let ended = || Arc::new(Err(Undecided::Refused("it was ended".to_owned())));
                return Ok(Followed::Settled(said.borrow().clone().unwrap_or_else(ended)));
            }
        }
        patience.waits_for(find_hindrance(seat, task, &spec.key).await?);
        tokio::select! {
            biased;
            () = patience.over() => return Ok(Followed::GivenUp),
            notice = notices.recv() => if let Err(RecvError::Closed) = notice {
                return Err(CommandError::Ended.into());
            },
            () = seat.left() => return Ok(Followed::HolderGone),
        }
    }
}

async fn stands(seat: &Seat, task: TaskId) -> Result<Option<TaskState>, Error> {
    match seat.look(Look::Stands { task }).await? {
        Looked::Stands(state) => Ok(state),
        _ => Ok(None),
    }
}
