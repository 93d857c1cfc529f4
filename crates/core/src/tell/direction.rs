//! What a runtime elsewhere is to do with its session now. It is read from where things stand;
//! nothing is decided here.

use serde::{Deserialize, Serialize};

use super::context::context;
use crate::engine::{
    BuildState, GateState, QuestionId, RunId, State, Step, Subject, Task, TaskId, TaskState,
};
use crate::fault::{Class, Code, Fault};
use crate::plan::GateKey;
use crate::policy::Policy;
use crate::time::Time;

/// What a runtime elsewhere is to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SessionDecision"))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is its turn: the first time, or once more as the context says.
    Retry,
    /// Nothing before then.
    Wait,
    /// Nothing before a person has answered.
    Ask,
    /// Nothing any more.
    Stop,
}

/// What a runtime elsewhere is to do now, and what it has to know for that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Direction {
    /// What.
    pub decision: Decision,
    /// How often this error was met, the last time included; 0 while nothing has failed.
    pub attempt: u32,
    /// How many attempts there are before a person is asked.
    pub of: u32,
    /// What failed last.
    pub code: Option<Code>,
    /// Not before then.
    pub until: Option<Time>,
    /// The question that a person has to answer.
    pub question: Option<QuestionId>,
    /// What its agent has to know: a person's guidance, what failed, and that it takes another way.
    pub context: Option<String>,
}

/// What the runtime of a session is to do now.
pub fn direction(state: &State, policy: &Policy, task: TaskId) -> Option<Direction> {
    let task = state.task(task).filter(|task| task.is_session())?;
    let build = state.build(task.build)?;
    let stand = match (build.state, &task.state) {
        (build, task) if build.has_ended() || task.has_ended() => Stand::Over,
        (_, TaskState::Parked { question, .. }) => Stand::Asked(*question),
        (BuildState::Paused { .. }, _) => match state.question_about(Subject::Build(build.id)) {
            Some(question) => Stand::Asked(question.id),
            None => Stand::Waits(None),
        },
        (BuildState::Sleeping { until }, _) => Stand::Waits(Some(until)),
        (_, TaskState::BackingOff { until, gate, .. }) => {
            Stand::Waits(until.or_else(|| reopens(state, (*gate)?)))
        }
        (_, TaskState::Running { run }) if is_its_turn(state, task) => Stand::Works(*run),
        (_, TaskState::Pending { .. }) => Stand::Waits(reopens(state, task.spec.gate)),
        _ => Stand::Waits(None),
    };
    let (attempt, of) = match task.failure.as_deref() {
        Some(failure) => tries(state, policy, task, failure),
        None => (0, policy.retry.per_signature),
    };
    let told = Direction {
        decision: Decision::Wait,
        attempt,
        of,
        code: task.failure.as_ref().map(|failure| failure.code()),
        until: None,
        question: None,
        context: None,
    };
    Some(match stand {
        Stand::Over => Direction { decision: Decision::Stop, ..told },
        Stand::Asked(question) => {
            Direction { decision: Decision::Ask, question: Some(question), ..told }
        }
        Stand::Waits(until) => Direction { until, ..told },
        Stand::Works(run) => {
            let context = context(state, policy, run);
            Direction { decision: Decision::Retry, context, ..told }
        }
    })
}

/// Where a session stands, as its runtime sees it.
enum Stand {
    Over,
    Asked(QuestionId),
    Waits(Option<Time>),
    Works(RunId),
}

fn is_its_turn(state: &State, task: &Task) -> bool {
    let run = task.state.run().and_then(|run| state.run(run));
    run.is_some_and(|run| run.owes.is_some() && matches!(run.step, Step::Attempt { .. }))
}

fn reopens(state: &State, gate: GateKey) -> Option<Time> {
    match state.gate(gate)?.state {
        GateState::Waiting { until } => Some(until),
        GateState::Passing | GateState::Probing { .. } => None,
    }
}

/// How often an error was met, and how often it may be.
fn tries(state: &State, policy: &Policy, task: &Task, failure: &Fault) -> (u32, u32) {
    let limits = policy.limits(failure.code(), &task.spec.overrides);
    let (count, of) = match failure.class() {
        Class::CodeError => (state.signatures().count(failure.signature), limits.per_signature),
        Class::EnvError => {
            let most = task.counters.transient.iter().map(|transient| transient.count).max();
            (most.unwrap_or(0), limits.transient)
        }
        // Trying again cannot help.
        Class::NeverRetry => (1, 1),
    };
    (count.max(1), of)
}
