//! Whoever decides, as those see it who perform: the loop in this process, or the process that holds
//! the project, at the other end of its socket.

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

/// Whoever decides.
#[async_trait]
pub trait Decider: Send + Sync {
    /// Has a command decided, and waits until the decision is on disk.
    async fn command(&self, command: Command) -> Result<Vec<Arc<Recorded>>, Undecided>;

    /// An attempt got on, and its conversation has come this far.
    async fn checkpoint(
        &self,
        effect: EffectId,
        report: Progress,
        conversation: Conversation,
    ) -> Result<Vec<Arc<Recorded>>, Undecided>;

    /// Looks something up in the state of the project.
    async fn look(&self, look: Look) -> Result<Looked, Undecided>;

    /// An irreversible action of an attempt or execution, through the ledger.
    async fn mutate(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn Action>,
    ) -> Result<Settled, Undecided>;
}

/// Why there is no decision.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    /// Nobody waits for it any more.
    #[error("nobody waits for it any more")]
    Stale,
    /// It does not fit the state of things.
    #[error("{0}")]
    Refused(String),
    /// The key of an action was used for another one.
    #[error("{0}")]
    KeyReused(String),
    /// A request came again and said something else.
    #[error("{0}")]
    RequestReused(String),
    /// It could not be remembered.
    #[error("{0}")]
    Store(Box<Fault>),
    /// Whoever decided is gone.
    #[error("whoever decided is gone")]
    Ended,
}

/// What somebody who performs has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum Look {
    /// Whether a person allowed what a fault is about.
    Allows {
        /// To this task.
        task: TaskId,
        /// The fault.
        signature: Signature,
    },
    /// Whether a person wants the work done without what a fault is about.
    GoesWithout {
        /// Of this task.
        task: TaskId,
        /// The fault.
        signature: Signature,
    },
    /// The commands that a person allowed beside the rules.
    AllowedCommands {
        /// To this task.
        task: TaskId,
    },
    /// Whether what is red at the base belongs to the work, where a person has said so.
    BaseBelongs {
        /// Of this task's build.
        task: TaskId,
    },
    /// What a task may still spend.
    BudgetLeft {
        /// Which task.
        task: TaskId,
        /// The caps.
        budget: Budget,
        /// The time, because a day's budget starts anew.
        now: Time,
    },
    /// The result of an action, where it was applied.
    Action {
        /// Whose action.
        task: TaskId,
        /// Its key.
        key: String,
    },
    /// Whether the agent of a task has declared an action.
    Declares {
        /// Which task.
        task: TaskId,
        /// The action's key.
        key: String,
    },
    /// Whether a person said something to a task.
    Guidance {
        /// To this one.
        task: TaskId,
    },
    /// The job with a name.
    Job {
        /// The name.
        name: String,
    },
    /// Where a task stands.
    Stands {
        /// Which one.
        task: TaskId,
    },
    /// Whether the build of a task is held, and the question that it waits for.
    Held {
        /// Which task.
        task: TaskId,
    },
    /// What an agent reads that has to find another way.
    AnotherWay {
        /// In this run.
        run: RunId,
        /// The limits that are spoken of.
        policy: Box<Policy>,
    },
    /// What the runtime of a session is to do now.
    Session {
        /// The session's task.
        task: TaskId,
        /// The limits that are spoken of.
        policy: Box<Policy>,
    },
    /// How an action of a session stands.
    Intent {
        /// The session's task.
        task: TaskId,
        /// The action's key.
        key: String,
    },
    /// How the action stands whose key counts for the whole project.
    PermanentAction {
        /// The key.
        key: String,
    },
    /// The build that this very request was about.
    Taken {
        /// The request.
        request: Request,
    },
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Looked {
    /// It is so, or not.
    Is(bool),
    /// It was said to be so, or not to be so, or nothing was said.
    Said(Option<bool>),
    /// This much may still be spent.
    Budget(BudgetLeft),
    /// These commands.
    Commands(BTreeSet<String>),
    /// This text, or none.
    Text(Option<Arc<str>>),
    /// This job.
    Job(Option<KnownJob>),
    /// It is held by somebody, or nobody holds it.
    Held(Option<HeldBy>),
    /// It stands like this.
    Stands(Option<TaskState>),
    /// This is to be done.
    Session(Option<Box<Direction>>),
    /// The action stands like this.
    Intent(Option<Intent>),
    /// The permanent action stands like this.
    PermanentAction(Option<PermanentAction>),
    /// This one.
    Build(Option<BuildId>),
}

/// How an action of a session stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Where it stands.
    pub state: MutationState,
    /// Whether the session itself performs it; of those that hold for a project, another one may.
    pub own: bool,
    /// The same whenever this action is sent, so that the other side can recognise a repeated call.
    pub idempotency_key: String,
}

/// How an action stands whose key counts for the whole project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermanentAction {
    /// Recognises its arguments.
    pub arguments: u64,
    /// Where it stands.
    pub state: MutationState,
}

/// A job that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownJob {
    /// Its id.
    pub task: TaskId,
    /// It may be fired: its last firing came to its end, or rests over something that may have passed
    /// by itself since.
    pub may_begin: bool,
    /// What it is.
    pub spec: Arc<TaskSpec>,
}

impl Look {
    /// Looks it up.
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

/// What holds a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldBy {
    /// A person, until they say so.
    Person,
    /// This question, until it is answered.
    Question(QuestionId),
}

/// What holds the build of a task.
fn held(state: &State, task: TaskId) -> Option<HeldBy> {
    let build = state.build(state.task(task)?.build)?;
    let BuildState::Paused { .. } = build.state else { return None };
    let question = state.question_about(Subject::Build(build.id));
    Some(question.map_or(HeldBy::Person, |question| HeldBy::Question(question.id)))
}

impl Looked {
    /// Whether it is so.
    pub(crate) const fn is(&self) -> bool {
        matches!(self, Self::Is(true))
    }

    /// The text, where there is one.
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
