//! A single irreversible action for the project itself: a job of its own, performed by this process and
//! decided by the holder.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{
    Command, CommandRejection, MutationState, QuestionId, TaskId, TaskState,
};
use unstuck_core::plan::{JobSpec, MutationSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::control::ClientError;
use unstuck_runner::{
    ActionJob, ActionProber, ActionResult, CommandError, DecideError, HoldReason, LedgerAction,
    PerformScope, ResultFiles, TaskLocks,
};
use unstuck_world::process::{FileLock, GuardCommand};

use super::connection::ProjectConnection;
use super::folder::{LocalProject, project_redactor};
use super::session::{ProjectSession, leave_session, with_session};
use crate::error::CliError;

pub(crate) struct SingleAction {
    /// The verb that other processes see while this one holds the project.
    pub(crate) verb: &'static str,
    pub(crate) job: TaskSpec,
    pub(crate) spec: MutationSpec,
    pub(crate) action: Arc<dyn LedgerAction>,
    /// The probe that runs the lookup command stored with the action.
    pub(crate) prober: ActionProber,
}

/// Returns the prober of a project's actions, which runs stored lookup commands in `directory`.
pub(crate) fn create_prober(
    project: &LocalProject,
    guard: GuardCommand,
    directory: PathBuf,
) -> ActionProber {
    ActionProber {
        guard,
        runs: project.runs_folder(),
        directory,
        results: ResultFiles::new(project.results_folder()),
        redactor: project_redactor(project),
    }
}

/// Returns the job of a single action, which is not repaired.
pub(crate) fn action_job(name: String, title: String, goal: String) -> TaskSpec {
    TaskSpec {
        name,
        title,
        goal,
        job: Some(JobSpec { one_action: true, ..JobSpec::default() }),
        overrides: Overrides { repairs: Some(0), ..Overrides::default() },
        ..TaskSpec::default()
    }
}

pub(crate) type SingleActionResult = Arc<Result<ActionResult, DecideError>>;

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
pub(crate) struct ActionWait {
    hindrance: Mutex<Option<Hindrance>>,
    over: CancellationToken,
}

impl ActionWait {
    pub(crate) fn hindrance(&self) -> Option<Hindrance> {
        *self.hindrance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_hindrance(&self, hindrance: Option<Hindrance>) {
        *self.hindrance.lock().unwrap_or_else(PoisonError::into_inner) = hindrance;
    }

    /// Ends the wait.
    pub(crate) fn give_up(&self, hindrance: Hindrance) {
        self.set_hindrance(Some(hindrance));
        self.over.cancel();
    }

    /// Returns when the wait is given up.
    pub(crate) async fn wait_for_end(&self) {
        self.over.cancelled().await;
    }
}

enum ActionFollowOutcome {
    /// The action is settled, or needs a person.
    Settled(SingleActionResult),
    /// The holder is gone, and the action goes on.
    HolderGone,
    GivenUp,
}

/// Performs the action, or determines its result; returns `None` if `patience` ended first. `belongs`
/// receives the task before anything runs.
pub(crate) async fn perform_once(
    project: &LocalProject,
    once: SingleAction,
    belongs: impl Fn(TaskId),
    patience: &ActionWait,
) -> Result<Option<SingleActionResult>, CliError> {
    let store = project.open_or_create_store()?;
    let mut lock = None;
    let attempt = async |session: &mut ProjectSession| {
        let context = (&mut lock, &belongs as &dyn Fn(TaskId), patience);
        Ok(match attempt_action(session, project, &once, context).await? {
            ActionFollowOutcome::HolderGone => None,
            ActionFollowOutcome::Settled(settled) => Some(Some(settled)),
            ActionFollowOutcome::GivenUp => Some(None),
        })
    };
    let mut place = None;
    let came = with_session(project, &store, once.verb, &mut place, attempt).await?;
    leave_session(place).await?;
    Ok(came)
}

/// Performs the action over an open connection, without a time limit.
pub(crate) async fn perform_in_session(
    connection: &ProjectConnection,
    project: &LocalProject,
    once: SingleAction,
) -> Result<SingleActionResult, CliError> {
    let patience = ActionWait::default();
    match attempt_action(connection, project, &once, (&mut None, &|_| {}, &patience)).await? {
        ActionFollowOutcome::Settled(came) => Ok(came),
        ActionFollowOutcome::HolderGone | ActionFollowOutcome::GivenUp => {
            Err(ClientError::Gone.into())
        }
    }
}

/// Follows the action to its result. Other processes with the same action wait for the lock until the
/// result is known; a settled key needs no lock.
async fn attempt_action(
    connection: &ProjectConnection,
    project: &LocalProject,
    once: &SingleAction,
    (lock, belongs, patience): (&mut Option<FileLock>, &dyn Fn(TaskId), &ActionWait),
) -> Result<ActionFollowOutcome, CliError> {
    if let Some(came) = find_earlier_result(connection, &once.spec).await?
        && (came.is_err() || !may_finish_job(connection, &once.job.name).await?)
    {
        return Ok(ActionFollowOutcome::Settled(came));
    }
    let task = connection.find_or_define_job(&once.job).await?;
    belongs(task);
    if lock.is_none() {
        let locks = TaskLocks::new(project.runs_folder());
        *lock = locks.try_lock_task(task)?;
        if lock.is_none() {
            patience.set_hindrance(Some(Hindrance::SameAction));
            tokio::select! {
                taken = locks.lock_task(task) => *lock = Some(taken?),
                () = patience.wait_for_end() => return Ok(ActionFollowOutcome::GivenUp),
            }
            patience.set_hindrance(None);
        }
    }
    follow_action(connection, task, once, patience).await
}

/// Returns whether the job of an action with a known result is still open and may run to its end: a person
/// has told the result, or the process that performed it was killed.
async fn may_finish_job(connection: &ProjectConnection, name: &str) -> Result<bool, CliError> {
    let Some(known) = connection.find_job(name).await? else { return Ok(false) };
    let state = connection.task_state(known.task).await?;
    let is_open =
        |state: TaskState| !state.has_ended() && !matches!(state, TaskState::Parked { .. });
    let is_open = state.is_some_and(is_open);
    Ok(is_open && connection.hold_reason(known.task).await?.is_none())
}

/// Returns the earlier result of the action, if it is final.
async fn find_earlier_result(
    connection: &ProjectConnection,
    spec: &MutationSpec,
) -> Result<Option<SingleActionResult>, CliError> {
    let known = match connection.find_permanent_action(&spec.key).await? {
        Some(known) if spec.permanent => known,
        _ => return Ok(None),
    };
    // The key of an action that did not happen is free.
    if known.arguments != spec.arguments && known.state != MutationState::NotApplied {
        let reused = CommandRejection::KeyReused(spec.key.clone()).to_string();
        return Ok(Some(Arc::new(Err(DecideError::KeyReused(reused)))));
    }
    Ok(final_result(known.state).map(|settled| Arc::new(Ok(settled))))
}

/// Returns the result of an action in this state, if the state is final.
fn final_result(state: MutationState) -> Option<ActionResult> {
    match state {
        MutationState::Applied { result } => Some(ActionResult::Applied(result)),
        MutationState::Skipped => Some(ActionResult::Skipped),
        MutationState::Intended
        | MutationState::InFlight { .. }
        | MutationState::Probing { .. }
        | MutationState::Settling { .. }
        | MutationState::Indeterminate
        | MutationState::NotApplied => None,
    }
}

/// Returns the recorded result of the action of a job that ended without performing it: a lookup found
/// that it had happened.
async fn find_recorded_result(
    connection: &ProjectConnection,
    task: TaskId,
    spec: &MutationSpec,
) -> Result<SingleActionResult, CliError> {
    let intent = connection.find_intent(task, &spec.key).await?;
    let settled = intent.and_then(|intent| final_result(intent.state));
    let ended = || DecideError::Refused("it was ended".to_owned());
    Ok(Arc::new(settled.ok_or_else(ended)))
}

/// Returns the reason why the action of a task is currently not performed or settled.
async fn find_hindrance(
    connection: &ProjectConnection,
    task: TaskId,
    key: &str,
) -> Result<Option<Hindrance>, CliError> {
    match connection.hold_reason(task).await? {
        Some(HoldReason::Person) => return Ok(Some(Hindrance::Paused)),
        Some(HoldReason::Question(question)) => return Ok(Some(Hindrance::Question(question))),
        None => {}
    }
    let Some(intent) = connection.find_intent(task, key).await? else { return Ok(None) };
    Ok(match intent.state {
        MutationState::Probing { .. } | MutationState::Settling { .. } => Some(Hindrance::Checking),
        MutationState::InFlight { .. } if !intent.own => Some(Hindrance::SameAction),
        _ => None,
    })
}

/// Performs the job until it has ended, or until a person has to tell the result of its action.
async fn follow_action(
    connection: &ProjectConnection,
    task: TaskId,
    once: &SingleAction,
    patience: &ActionWait,
) -> Result<ActionFollowOutcome, CliError> {
    let SingleAction { spec, action, prober, .. } = once;
    let mut notices = connection.subscribe_notices().await?;
    let (world, said) =
        ActionJob::new(connection.decider(), spec.clone(), Arc::clone(action), prober.clone());
    connection.attach_performer(PerformScope::Task(task), Arc::new(world)).await?;
    if connection.task_state(task).await?.is_none_or(|state| state.has_ended()) {
        connection.submit_command(Command::FireJob { task }).await?;
    }
    loop {
        match connection.task_state(task).await? {
            Some(TaskState::Parked { .. }) => {
                return Ok(ActionFollowOutcome::Settled(Arc::new(Ok(ActionResult::NeedsPerson))));
            }
            Some(state) if !state.has_ended() => {}
            _ => {
                let performed = said.borrow().clone();
                let settled = match performed {
                    Some(settled) => settled,
                    None => find_recorded_result(connection, task, spec).await?,
                };
                return Ok(ActionFollowOutcome::Settled(settled));
            }
        }
        patience.set_hindrance(find_hindrance(connection, task, &spec.key).await?);
        tokio::select! {
            biased;
            () = patience.wait_for_end() => return Ok(ActionFollowOutcome::GivenUp),
            notice = notices.recv() => if let Err(RecvError::Closed) = notice {
                return Err(CommandError::Ended.into());
            },
            () = connection.wait_until_gone() => return Ok(ActionFollowOutcome::HolderGone),
        }
    }
}
