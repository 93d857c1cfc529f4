//! One irreversible action for the project itself: a job of its own, performed here, decided by
//! whoever holds the project.

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

/// What an action waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// Another process performs the same action.
    SameAction,
    /// It is being found out whether it happened.
    Checking,
    /// One of the two, where it cannot be seen which.
    Unsettled,
    /// A person paused all jobs.
    Paused,
    /// All jobs wait until this question is answered.
    Question(QuestionId),
}

/// How long an action is waited for, and what it waits for meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    hindrance: Mutex<Option<Hindrance>>,
    over: CancellationToken,
}

impl Patience {
    /// What is waited for just now.
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

    /// Returns when the wait was given up.
    pub(crate) async fn over(&self) {
        self.over.cancelled().await;
    }
}

/// How far an action was followed.
enum Followed {
    /// It rests.
    Settled(Came),
    /// The process that held the project is gone, and the action goes on.
    HolderGone,
    /// It was waited for long enough.
    GivenUp,
}

/// Has it done, or finds out what came of it; none where `patience` was over first. `belongs` hears
/// which task it is before anything runs.
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

/// The same from a seat that was taken already, however long it takes.
pub(crate) async fn perform_at(seat: &Seat, project: &Project, once: Once) -> Result<Came, Error> {
    let patience = Patience::default();
    match attempt(seat, project, &once, (&mut None, &|_| {}, &patience)).await? {
        Followed::Settled(came) => Ok(came),
        Followed::HolderGone | Followed::GivenUp => Err(ClientError::Gone.into()),
    }
}

/// Other processes that want the same thing done wait for the turn until we know. A key that is
/// settled needs no turn.
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

/// What came of the action earlier, where that is known for good.
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

/// What keeps the action of a task from being performed or settled just now.
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

/// Performs the job until it rests: it is over, or a person has to say what became of its action.
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
