//! Queries of workers about the state of the project.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{
    BudgetLeft, BuildId, BuildState, MutationState, QuestionId, RunId, State, Subject, TaskId,
    TaskState, budget_left,
};
use unstuck_core::plan::{Request, TaskSpec};
use unstuck_core::policy::{BudgetLimits, Policy};
use unstuck_core::signature::Signature;
use unstuck_core::tell::{self, SessionDirection};
use unstuck_core::time::Time;

use crate::ledger::{find_known_action, idempotency_key};

/// A query of a worker about the state of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum StateQuery {
    /// Asks whether the operator allowed the action that a fault is about.
    Allows {
        /// The task that wants to act.
        task: TaskId,
        /// The fault's signature.
        signature: Signature,
    },
    /// Asks whether the operator has just allowed this very work something, not only in general.
    AllowsNow {
        /// The task that does the work.
        task: TaskId,
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
        budget: BudgetLimits,
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

/// The response to a [`StateQuery`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateQueryResult {
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
    Held(Option<HoldReason>),
    /// The task's state; `None` if there is no such task.
    Stands(Option<TaskState>),
    /// The direction to the session's runtime, if there is one.
    Session(Option<Box<SessionDirection>>),
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

impl StateQuery {
    /// Answers the query from `state`.
    pub fn answer_from(&self, state: &State) -> StateQueryResult {
        match self {
            Self::Allows { task, signature } => {
                StateQueryResult::Is(state.allows_signature(*task, *signature))
            }
            Self::AllowsNow { task } => {
                StateQueryResult::Is(state.task(*task).is_some_and(|task| task.allowance.is_some()))
            }
            Self::GoesWithout { task, signature } => {
                StateQueryResult::Is(state.must_do_without(*task, *signature))
            }
            Self::AllowedCommands { task } => {
                StateQueryResult::Commands(state.allowed_commands(*task))
            }
            Self::BaseBelongs { task } => {
                let build = state.task(*task).and_then(|task| state.build(task.build));
                StateQueryResult::Said(build.and_then(|build| build.base_belongs))
            }
            Self::BudgetLeft { task, budget, now } => {
                StateQueryResult::Budget(budget_left(state, budget, *now, *task))
            }
            Self::Action { task, key } => {
                StateQueryResult::Text(match find_known_action(state, *task, key) {
                    Some((_, MutationState::Applied { result })) => Some(result),
                    _ => None,
                })
            }
            Self::Declares { task, key } => StateQueryResult::Is(
                state
                    .task(*task)
                    .is_some_and(|task| task.declared.iter().any(|declared| declared.key == *key)),
            ),
            Self::Guidance { task } => {
                StateQueryResult::Is(state.task(*task).is_some_and(|task| task.guidance.is_some()))
            }
            Self::Job { name } => StateQueryResult::Job(state.job(name).map(|job| KnownJob {
                task: job.id,
                may_begin: job.state.has_ended() || state.is_parked_over_transient(job),
                spec: Arc::clone(&job.spec),
            })),
            Self::Held { task } => StateQueryResult::Held(find_hold_reason(state, *task)),
            Self::Stands { task } => {
                StateQueryResult::Stands(state.task(*task).map(|task| task.state.clone()))
            }
            Self::AnotherWay { run, policy } => {
                StateQueryResult::Text(tell::failure_result(state, policy, *run).map(Arc::from))
            }
            Self::Session { task, policy } => StateQueryResult::Session(
                tell::session_direction(state, policy, *task).map(Box::new),
            ),
            Self::Intent { task, key } => {
                StateQueryResult::Intent(state.action(*task, key).map(|known| {
                    let idempotency_key = idempotency_key(state.project(), known);
                    Intent { state: known.state.clone(), own: known.task == *task, idempotency_key }
                }))
            }
            Self::PermanentAction { key } => {
                StateQueryResult::PermanentAction(state.permanent_action(key).map(|known| {
                    PermanentAction { arguments: known.spec.arguments, state: known.state.clone() }
                }))
            }
            Self::Taken { request } => {
                let taken =
                    state.handled_request(&request.key).filter(|taken| taken.request == *request);
                StateQueryResult::Build(taken.and_then(|taken| taken.build))
            }
        }
    }
}

/// The reason for which a build is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldReason {
    /// The operator paused it, until they resume it.
    Person,
    /// An open question, until it is answered.
    Question(QuestionId),
}

/// Returns the reason for which the build of a task is paused.
fn find_hold_reason(state: &State, task: TaskId) -> Option<HoldReason> {
    let build = state.build(state.task(task)?.build)?;
    let BuildState::Paused { .. } = build.state else { return None };
    let question = state.question_about(Subject::Build(build.id));
    Some(question.map_or(HoldReason::Person, |question| HoldReason::Question(question.id)))
}

impl StateQueryResult {
    /// Returns whether the answer is yes.
    pub(crate) const fn is_yes(&self) -> bool {
        matches!(self, Self::Is(true))
    }

    /// Returns the text of a [`StateQueryResult::Text`].
    pub(crate) fn into_text(self) -> Option<Arc<str>> {
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
