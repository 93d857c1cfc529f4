//! The connection to the decider of the project: the loop of this process, or the control socket of the
//! holder. It is chosen once, when the project is taken or its holder reached.

use std::future::pending;
use std::io;
use std::sync::Arc;

use tokio::sync::broadcast;
use unstuck_core::engine::{
    BuildState, Command, Event, RecordedEvent, State, TaskId, TaskState, TaskStateKind,
};
use unstuck_core::plan::TaskSpec;
use unstuck_runner::control::{ClientError, ControlClient, ControlRefusal};
use unstuck_runner::{
    CommandError, Decider, HoldReason, Intent, KnownJob, PerformScope, Performer, PermanentAction,
    RunnerHandle, RunnerNotice, StateQuery, StateQueryResult,
};
use unstuck_store::tables::BuildRow;
use unstuck_store::{Holder, Store};

use super::folder::LocalProject;
use crate::error::{CliError, internal_fault};

/// The connection to the decider: this process, or the holder. Clones share it.
#[derive(Clone)]
pub(crate) enum ProjectConnection {
    /// A handle of the loop: this process holds the project.
    Holder(RunnerHandle),
    /// A connection to the holder, another process.
    Guest(ControlClient),
}

impl ProjectConnection {
    /// Connects to the holder, another process.
    pub(crate) async fn connect(project: &LocalProject) -> io::Result<(Self, Holder)> {
        let (client, holder) = ControlClient::connect(&project.socket_path(), None).await?;
        Ok((Self::Guest(client), holder))
    }

    /// Sends a command; returns when its events are on disk.
    pub(crate) async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<RecordedEvent>, CliError> {
        match self {
            Self::Holder(handle) => {
                let decided = handle.submit_command(command).await?;
                Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
            }
            Self::Guest(client) => Ok(client.submit_command(command).await?),
        }
    }

    /// Makes the decider take up the answers in the store, and returns whether it does: the next holder
    /// finds the answers that one leaves behind.
    pub(crate) async fn take_answers(&self) -> Result<bool, CliError> {
        match self {
            Self::Holder(handle) => match handle.take_answers().await {
                Ok(()) => Ok(true),
                Err(CommandError::Store(_) | CommandError::Ended) => Ok(false),
                Err(error) => Err(error.into()),
            },
            Self::Guest(client) => match client.take_answers().await {
                Ok(()) => Ok(true),
                Err(
                    ClientError::Gone
                    | ClientError::Refused {
                        why: ControlRefusal::Store | ControlRefusal::Ended, ..
                    },
                ) => Ok(false),
                Err(error) => Err(error.into()),
            },
        }
    }

    pub(crate) async fn query_state(
        &self,
        query: StateQuery,
    ) -> Result<StateQueryResult, CliError> {
        Ok(match self {
            Self::Holder(handle) => {
                handle.read_state(move |state| query.answer_from(state)).await?
            }
            Self::Guest(client) => client.query_state(query).await?,
        })
    }

    pub(crate) async fn find_job(&self, name: &str) -> Result<Option<KnownJob>, CliError> {
        match self.query_state(StateQuery::Job { name: name.to_owned() }).await? {
            StateQueryResult::Job(found) => Ok(found),
            _ => Err(unexpected_result("a job")),
        }
    }

    pub(super) async fn task_state(&self, task: TaskId) -> Result<Option<TaskState>, CliError> {
        match self.query_state(StateQuery::Stands { task }).await? {
            StateQueryResult::Stands(state) => Ok(state),
            _ => Err(unexpected_result("a task")),
        }
    }

    /// Returns the reason why the build of a task is held.
    pub(crate) async fn hold_reason(&self, task: TaskId) -> Result<Option<HoldReason>, CliError> {
        match self.query_state(StateQuery::Held { task }).await? {
            StateQueryResult::Held(reason) => Ok(reason),
            _ => Err(unexpected_result("a hold")),
        }
    }

    /// Returns the state of a task's action.
    pub(super) async fn find_intent(
        &self,
        task: TaskId,
        key: &str,
    ) -> Result<Option<Intent>, CliError> {
        match self.query_state(StateQuery::Intent { task, key: key.to_owned() }).await? {
            StateQueryResult::Intent(intent) => Ok(intent),
            _ => Err(unexpected_result("an action")),
        }
    }

    /// Returns the state of the action whose key is unique in the project.
    pub(super) async fn find_permanent_action(
        &self,
        key: &str,
    ) -> Result<Option<PermanentAction>, CliError> {
        match self.query_state(StateQuery::PermanentAction { key: key.to_owned() }).await? {
            StateQueryResult::PermanentAction(action) => Ok(action),
            _ => Err(unexpected_result("a permanent action")),
        }
    }

    /// Returns the state of a build and whether one of its tasks is at work. The holder reads both at one
    /// moment from memory, before the tables have them.
    pub(crate) async fn build_state(
        &self,
        store: &Arc<dyn Store>,
        project: &str,
        row: &BuildRow,
    ) -> Result<(BuildState, bool), CliError> {
        let id = row.id;
        match self {
            Self::Holder(handle) => {
                let look = move |state: &State| {
                    let build = state.build(id)?;
                    let at_work = build.count(TaskStateKind::Running)
                        + build.count(TaskStateKind::Reconciling)
                        > 0;
                    Some((build.state, at_work))
                };
                Ok(handle.read_state(look).await?.unwrap_or((row.state, false)))
            }
            Self::Guest(_) => {
                let works =
                    |kind| matches!(kind, TaskStateKind::Running | TaskStateKind::Reconciling);
                let tasks = store.load_build_tasks(project, id).await?;
                Ok((row.state, tasks.iter().any(|task| works(task.moved.state.kind()))))
            }
        }
    }

    /// Returns the job with the name of `spec`, and defines it if there is none. If another process defines
    /// it at the same time, that job is returned.
    pub(crate) async fn find_or_define_job(&self, spec: &TaskSpec) -> Result<TaskId, CliError> {
        if let Some(known) = self.find_job(&spec.name).await? {
            return Ok(known.task);
        }
        match self.define_job(spec.clone()).await {
            Ok(task) => Ok(task),
            Err(error) => match self.find_job(&spec.name).await? {
                Some(known) => Ok(known.task),
                None => Err(error),
            },
        }
    }

    /// Defines a job, or changes its definition.
    pub(crate) async fn define_job(&self, spec: TaskSpec) -> Result<TaskId, CliError> {
        let name = spec.name.clone();
        let events = self.submit_command(Command::DefineJob { spec: Arc::new(spec) }).await?;
        let defined = events.iter().find_map(|recorded| match &recorded.event {
            Event::JobDefined { task, .. } => Some(*task),
            _ => None,
        });
        defined.ok_or(CliError::Unknown { what: "job", name, list: "unstuck status" })
    }

    /// Performs the effects of `scope` from now on, as soon as no other process does.
    pub(crate) async fn attach_performer(
        &self,
        scope: PerformScope,
        world: Arc<dyn Performer>,
    ) -> Result<(), CliError> {
        match self {
            Self::Holder(handle) => {
                handle.attach_performer(scope, world).await?;
            }
            Self::Guest(client) => client.attach_performer(scope, world).await?,
        }
        Ok(())
    }

    /// Performs the effects of `scope` without waiting; returns `false` if another process does.
    pub(crate) async fn try_attach_performer(
        &self,
        scope: PerformScope,
        world: Arc<dyn Performer>,
    ) -> Result<bool, CliError> {
        match self {
            Self::Holder(handle) => Ok(handle.try_attach_performer(scope, world).await?.is_some()),
            Self::Guest(client) => Ok(client.try_attach_performer(scope, world).await?),
        }
    }

    pub(crate) fn decider(&self) -> Arc<dyn Decider> {
        match self {
            Self::Holder(handle) => Arc::new(handle.clone()),
            Self::Guest(client) => Arc::new(client.clone()),
        }
    }

    /// Returns the handle of the loop if this process decides, and so knows the state before the disk does.
    pub(crate) const fn holder_handle(&self) -> Option<&RunnerHandle> {
        match self {
            Self::Holder(handle) => Some(handle),
            Self::Guest(_) => None,
        }
    }

    /// Subscribes to the notices from here on.
    pub(crate) async fn subscribe_notices(
        &self,
    ) -> Result<broadcast::Receiver<RunnerNotice>, CliError> {
        Ok(match self {
            Self::Holder(handle) => handle.subscribe_notices(),
            Self::Guest(client) => client.subscribe_notices().await?,
        })
    }

    /// Returns when the holder, if it is another process, is gone.
    pub(crate) async fn wait_until_gone(&self) {
        match self {
            Self::Holder(_) => pending().await,
            Self::Guest(client) => client.wait_until_gone().await,
        }
    }

    /// Returns whether an error means that the holder, another process, is ending or gone.
    pub(crate) const fn is_holder_gone(&self, error: &CliError) -> bool {
        let gone = matches!(
            error,
            CliError::Refused(
                ClientError::Gone | ClientError::Refused { why: ControlRefusal::Ended, .. }
            )
        );
        gone && matches!(self, Self::Guest(_))
    }

    /// Ends the work that this process has begun.
    pub(super) async fn end_work(self) {
        match self {
            Self::Holder(handle) => handle.shut_down(false).await,
            Self::Guest(client) => {
                // A holder that is gone needs no message.
                let _ = client.detach_all().await;
            }
        }
    }
}

/// Returns the error for a result that belongs to another query.
fn unexpected_result(wanted: &str) -> CliError {
    let message = format!("the decider was asked for {wanted} and answered something else");
    internal_fault("control", message).into()
}
