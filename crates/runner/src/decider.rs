//! The decider, as workers see it: the [`Runner`](crate::Runner) in this process, or the holder of
//! the project at the other end of its socket.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::{
    BudgetLeft, BuildId, BuildState, Command, EffectId, MutationState, Progress, QuestionId,
    Recorded, Rejected, RunId, State, Subject, TaskId, TaskState, budget_left,
};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::{MutationSpec, Request, TaskSpec};
use unstuck_core::policy::{Budget, Policy};
use unstuck_core::signature::Signature;
use unstuck_core::tell::{self, Direction};
use unstuck_core::time::Time;
use unstuck_store::Conversation;

use crate::control::{Client, ClientError, Refusal};
use crate::handle::{CommandError, Handle};
use crate::ledger::{Action, Settled, known};
use crate::probe::idempotency_key;

/// A decider of commands: a [`Handle`], a [`Client`], or a [`Succession`](crate::Succession) of
/// either.
#[async_trait]
pub trait Decider: Send + Sync {
    /// Submits a command, and waits until the decision is on disk.
    async fn command(&self, command: Command) -> Result<Vec<Arc<Recorded>>, Undecided>;

    /// Records progress of an attempt together with its conversation so far.
    async fn checkpoint(
        &self,
        effect: EffectId,
        report: Progress,
        conversation: Conversation,
    ) -> Result<Vec<Arc<Recorded>>, Undecided>;

    /// Queries the state of the project.
    async fn look(&self, look: Look) -> Result<Looked, Undecided>;

    /// Performs an irreversible action of an attempt or execution through the ledger.
    async fn mutate(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn Action>,
    ) -> Result<Settled, Undecided>;
}

/// The reason for which there is no decision.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    /// The effect that the command is about is no longer awaited.
    #[error("the result is no longer awaited")]
    Stale,
    /// The command does not fit the state of the project.
    #[error("{0}")]
    Refused(String),
    /// The idempotency key was used before, for another action.
    #[error("{0}")]
    KeyReused(String),
    /// The key of the request was used before, for a request with other content.
    #[error("{0}")]
    RequestReused(String),
    /// The decision could not be written to the store.
    #[error("{0}")]
    Store(Box<Fault>),
    /// The decider has ended, or the connection to it is lost.
    #[error("the holder of the project has ended")]
    Ended,
}

/// A query of a worker about the state of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum Look {
    /// Asks whether the operator allowed the action that a fault is about.
    Allows {
        /// The task that wants to act.
        task: TaskId,
        /// The fault's signature.
        signature: Signature,
    },
    /// Asks whether the operator wants the work done without the action that a fault is about.
    GoesWithout {
        /// The task that does the work.
        task: TaskId,
        /// The fault's signature.
        signature: Signature,
    },
    /// Asks for the commands that the operator allowed in addition to the rules.
    AllowedCommands {
        /// The task that runs the commands.
        task: TaskId,
    },
    /// Asks whether fixing the checks that fail at the base belongs to the work, as far as the
    /// operator has answered that.
    BaseBelongs {
        /// A task of the build.
        task: TaskId,
    },
    /// Asks for the remaining budget of a task.
    BudgetLeft {
        /// The task that spends it.
        task: TaskId,
        /// The caps to compare with.
        budget: Budget,
        /// The current time, because a daily budget starts anew each day.
        now: Time,
    },
    /// Asks for the result of an action that was applied.
    Action {
        /// The task that owns or sees the action.
        task: TaskId,
        /// The action's key.
        key: String,
    },
    /// Asks whether the agent of a task has declared an action.
    Declares {
        /// The task of the agent.
        task: TaskId,
        /// The action's key.
        key: String,
    },
    /// Asks whether the operator gave guidance to a task.
    Guidance {
        /// The task in question.
        task: TaskId,
    },
    /// Asks for the job with a name.
    Job {
        /// The job's name.
        name: String,
    },
    /// Asks for the state of a task.
    Stands {
        /// The task in question.
        task: TaskId,
    },
    /// Asks whether the build of a task is paused, and for the question it waits for.
    Held {
        /// A task of the build.
        task: TaskId,
    },
    /// Asks for the text that tells an agent to find another way.
    AnotherWay {
        /// The agent's run.
        run: RunId,
        /// The policy whose limits the text names.
        policy: Box<Policy>,
    },
    /// Asks for the next direction to the runtime of a session.
    Session {
        /// The session's task.
        task: TaskId,
        /// The policy whose limits the direction names.
        policy: Box<Policy>,
    },
    /// Asks for the state of an action of a session.
    Intent {
        /// The session's task.
        task: TaskId,
        /// The action's key.
        key: String,
    },
    /// Asks for the state of an action whose key is unique in the whole project.
    PermanentAction {
        /// The action's key.
        key: String,
    },
    /// Asks for the build that was started by this very request.
    Taken {
        /// The request, compared by key and content.
        request: Request,
    },
}

/// The response to a [`Look`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Looked {
    /// A yes or no.
    Is(bool),
    /// A yes or no that was decided by the operator; `None` if there is no decision.
    Said(Option<bool>),
    /// The remaining budget.
    Budget(BudgetLeft),
    /// The allowed commands.
    Commands(BTreeSet<String>),
    /// A text, if there is one.
    Text(Option<Arc<str>>),
    /// The job, if it exists.
    Job(Option<KnownJob>),
    /// The reason for which the build is paused; `None` if it is not.
    Held(Option<HeldBy>),
    /// The task's state; `None` if there is no such task.
    Stands(Option<TaskState>),
    /// The direction to the session's runtime, if there is one.
    Session(Option<Box<Direction>>),
    /// The state of a session's action; `None` if the key is unknown.
    Intent(Option<Intent>),
    /// The state of a permanent action; `None` if the key is unknown.
    PermanentAction(Option<PermanentAction>),
    /// The build of the request; `None` if the request is unknown.
    Build(Option<BuildId>),
}

/// The state of a session's action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// State of the action in the ledger.
    pub state: MutationState,
    /// Set if the action belongs to the session itself; an action that counts for the whole
    /// project may belong to another task.
    pub own: bool,
    /// The idempotency key: identical whenever this action is sent, so that the other side can
    /// recognize a repeated call.
    pub idempotency_key: String,
}

/// The state of an action whose key is unique in the whole project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermanentAction {
    /// The hash of its arguments.
    pub arguments: u64,
    /// State of the action in the ledger.
    pub state: MutationState,
}

/// An existing job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownJob {
    /// The job's task id.
    pub task: TaskId,
    /// Set if the job may be fired: its last firing has ended, or is paused over a cause that may
    /// have passed by itself since.
    pub may_begin: bool,
    /// The job's specification.
    pub spec: Arc<TaskSpec>,
}

impl Look {
    /// Answers the query from `state`.
    pub fn at(&self, state: &State) -> Looked {
        match self {
            Self::Allows { task, signature } => Looked::Is(state.allows(*task, *signature)),
            Self::GoesWithout { task, signature } => {
                Looked::Is(state.goes_without(*task, *signature))
            }
            Self::AllowedCommands { task } => Looked::Commands(state.allowed_commands(*task)),
            Self::BaseBelongs { task } => {
                let build = state.task(*task).and_then(|task| state.build(task.build));
                Looked::Said(build.and_then(|build| build.base_belongs))
            }
            Self::BudgetLeft { task, budget, now } => {
                Looked::Budget(budget_left(state, budget, *now, *task))
            }
            Self::Action { task, key } => Looked::Text(match known(state, *task, key) {
                Some((_, MutationState::Applied { result })) => Some(result),
                _ => None,
            }),
            Self::Declares { task, key } => Looked::Is(
                state
                    .task(*task)
                    .is_some_and(|task| task.declared.iter().any(|declared| declared.key == *key)),
            ),
            Self::Guidance { task } => {
                Looked::Is(state.task(*task).is_some_and(|task| task.guidance.is_some()))
            }
            Self::Job { name } => Looked::Job(state.job(name).map(|job| KnownJob {
                task: job.id,
                may_begin: job.state.has_ended() || state.rests_over_what_passes(job),
                spec: Arc::clone(&job.spec),
            })),
            Self::Held { task } => Looked::Held(held(state, *task)),
            Self::Stands { task } => {
                Looked::Stands(state.task(*task).map(|task| task.state.clone()))
            }
            Self::AnotherWay { run, policy } => {
                Looked::Text(tell::result(state, policy, *run).map(Arc::from))
            }
            Self::Session { task, policy } => {
                Looked::Session(tell::direction(state, policy, *task).map(Box::new))
            }
            Self::Intent { task, key } => Looked::Intent(state.action(*task, key).map(|known| {
                let idempotency_key = idempotency_key(state.project(), known);
                Intent { state: known.state.clone(), own: known.task == *task, idempotency_key }
            })),
            Self::PermanentAction { key } => {
                Looked::PermanentAction(state.permanent_action(key).map(|known| PermanentAction {
                    arguments: known.spec.arguments,
                    state: known.state.clone(),
                }))
            }
            Self::Taken { request } => {
                let taken = state.taken(&request.key).filter(|taken| taken.request == *request);
                Looked::Build(taken.and_then(|taken| taken.build))
            }
        }
    }
}

/// The reason for which a build is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldBy {
    /// The operator paused it, until they resume it.
    Person,
    /// An open question, until it is answered.
    Question(QuestionId),
}

/// Returns the reason for which the build of a task is paused.
fn held(state: &State, task: TaskId) -> Option<HeldBy> {
    let build = state.build(state.task(task)?.build)?;
    let BuildState::Paused { .. } = build.state else { return None };
    let question = state.question_about(Subject::Build(build.id));
    Some(question.map_or(HeldBy::Person, |question| HeldBy::Question(question.id)))
}

impl Looked {
    /// Returns whether the answer is yes.
    pub(crate) const fn is(&self) -> bool {
        matches!(self, Self::Is(true))
    }

    /// Returns the text of a [`Looked::Text`].
    pub(crate) fn text(self) -> Option<Arc<str>> {
        match self {
            Self::Text(text) => text,
            Self::Is(_)
            | Self::Said(_)
            | Self::Budget(_)
            | Self::Commands(_)
            | Self::Job(_)
            | Self::Held(_)
            | Self::Stands(_)
            | Self::Session(_)
            | Self::Intent(_)
            | Self::PermanentAction(_)
            | Self::Build(_) => None,
        }
    }
}

#[async_trait]
impl Decider for Handle {
    async fn command(&self, command: Command) -> Result<Vec<Arc<Recorded>>, Undecided> {
        Ok(self.command(command).await?.events.to_vec())
    }

    async fn checkpoint(
        &self,
        effect: EffectId,
        report: Progress,
        conversation: Conversation,
    ) -> Result<Vec<Arc<Recorded>>, Undecided> {
        Ok(self.checkpoint(effect, report, conversation).await?.events.to_vec())
    }

    async fn look(&self, look: Look) -> Result<Looked, Undecided> {
        Ok(self.look(move |state| look.at(state)).await?)
    }

    async fn mutate(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn Action>,
    ) -> Result<Settled, Undecided> {
        Ok(self.mutate(effect, spec, action).await?)
    }
}

#[async_trait]
impl Decider for Client {
    async fn command(&self, command: Command) -> Result<Vec<Arc<Recorded>>, Undecided> {
        Ok(shared(self.command(command).await?))
    }

    async fn checkpoint(
        &self,
        effect: EffectId,
        report: Progress,
        conversation: Conversation,
    ) -> Result<Vec<Arc<Recorded>>, Undecided> {
        Ok(shared(self.checkpoint(effect, report, conversation).await?))
    }

    async fn look(&self, look: Look) -> Result<Looked, Undecided> {
        Ok(self.look(look).await?)
    }

    async fn mutate(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn Action>,
    ) -> Result<Settled, Undecided> {
        Ok(self.mutate(effect, spec, action).await?)
    }
}

fn shared(events: Vec<Recorded>) -> Vec<Arc<Recorded>> {
    events.into_iter().map(Arc::new).collect()
}

impl From<CommandError> for Undecided {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Rejected(Rejected::Stale(_)) => Self::Stale,
            CommandError::Rejected(reused @ Rejected::KeyReused(_)) => {
                Self::KeyReused(reused.to_string())
            }
            CommandError::Rejected(reused @ Rejected::RequestReused(_)) => {
                Self::RequestReused(reused.to_string())
            }
            CommandError::Rejected(rejected) => Self::Refused(rejected.to_string()),
            CommandError::Store(error) => Self::Store(Box::new(error.fault())),
            CommandError::Ended => Self::Ended,
        }
    }
}

impl From<ClientError> for Undecided {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Gone | ClientError::Refused { why: Refusal::Ended, .. } => Self::Ended,
            ClientError::Refused { why: Refusal::Stale, .. } => Self::Stale,
            ClientError::Refused { why: Refusal::Store, message } => {
                let context = Internal { component: "store".to_owned() };
                Self::Store(Box::new(Fault::internal_store("store", message, context)))
            }
            ClientError::Refused { why: Refusal::KeyReused, message } => Self::KeyReused(message),
            ClientError::Refused { why: Refusal::RequestReused, message } => {
                Self::RequestReused(message)
            }
            ClientError::Refused { message, .. } => Self::Refused(message),
        }
    }
}
