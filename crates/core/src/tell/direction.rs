//! Directions for an external runtime about its session, derived from the current state; no decision is made
//! here.

use serde::{Deserialize, Serialize};

use super::context::replan_context;
use crate::engine::{
    BuildState, GateState, QuestionId, RunId, State, Step, Subject, Task, TaskId, TaskState,
};
use crate::fault::{Class, Code, Fault};
use crate::plan::GateKey;
use crate::policy::Policy;
use crate::time::Time;

/// The instruction to an external runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionDecision {
    /// Work now: for the first time, or again as the context says.
    Retry,
    /// Do nothing before the given time.
    Wait,
    /// Do nothing before a person has answered.
    Ask,
    /// Do nothing any more.
    Stop,
}

/// The instruction to an external runtime, with the data it needs to follow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionDirection {
    /// The instruction.
    pub decision: SessionDecision,
    /// Number of times this error occurred, the last one included; 0 while nothing has failed.
    pub attempt: u32,
    /// Number of attempts before a person is asked.
    pub of: u32,
    /// The code of the last failure.
    pub code: Option<Code>,
    /// Earliest time of the next attempt.
    pub until: Option<Time>,
    /// The question that a person has to answer.
    pub question: Option<QuestionId>,
    /// The text for the agent: a person's guidance, the failure, and the request for another approach.
    pub context: Option<String>,
}

/// Returns the instruction for the runtime of a session, or `None` if the task is not a session.
pub fn session_direction(state: &State, policy: &Policy, task: TaskId) -> Option<SessionDirection> {
    let task = state.task(task).filter(|task| task.is_session())?;
    let build = state.build(task.build)?;
    let stand = match (build.state, &task.state) {
        (build, task) if build.has_ended() || task.has_ended() => SessionStage::Over,
        (_, TaskState::Parked { question, .. }) => SessionStage::Asked(*question),
        (BuildState::Paused { .. }, _) => match state.question_about(Subject::Build(build.id)) {
            Some(question) => SessionStage::Asked(question.id),
            None => SessionStage::Waits(None),
        },
        (BuildState::Sleeping { until }, _) => SessionStage::Waits(Some(until)),
        (_, TaskState::BackingOff { until, gate, .. }) => {
            SessionStage::Waits(until.or_else(|| gate_reopens_at(state, (*gate)?)))
        }
        (_, TaskState::Running { run }) if is_its_turn(state, task) => SessionStage::Works(*run),
        (_, TaskState::Pending { .. }) => {
            SessionStage::Waits(gate_reopens_at(state, task.spec.gate))
        }
        _ => SessionStage::Waits(None),
    };
    let (attempt, of) = match task.failure.as_deref() {
        Some(failure) => count_tries(state, policy, task, failure),
        None => (0, policy.retry.per_signature),
    };
    let told = SessionDirection {
        decision: SessionDecision::Wait,
        attempt,
        of,
        code: task.failure.as_ref().map(|failure| failure.code()),
        until: None,
        question: None,
        context: None,
    };
    Some(match stand {
        SessionStage::Over => SessionDirection { decision: SessionDecision::Stop, ..told },
        SessionStage::Asked(question) => {
            SessionDirection { decision: SessionDecision::Ask, question: Some(question), ..told }
        }
        SessionStage::Waits(until) => SessionDirection { until, ..told },
        SessionStage::Works(run) => {
            let context = replan_context(state, policy, run);
            SessionDirection { decision: SessionDecision::Retry, context, ..told }
        }
    })
}

/// The state of a session as its runtime sees it.
enum SessionStage {
    Over,
    Asked(QuestionId),
    Waits(Option<Time>),
    Works(RunId),
}

fn is_its_turn(state: &State, task: &Task) -> bool {
    let run = task.state.run().and_then(|run| state.run(run));
    run.is_some_and(|run| run.owes.is_some() && matches!(run.step, Step::Attempt { .. }))
}

fn gate_reopens_at(state: &State, gate: GateKey) -> Option<Time> {
    match state.gate(gate)?.state {
        GateState::Waiting { until } => Some(until),
        GateState::Passing | GateState::Probing { .. } => None,
    }
}

/// Returns how often an error occurred, and its limit.
fn count_tries(state: &State, policy: &Policy, task: &Task, failure: &Fault) -> (u32, u32) {
    let limits = policy.limits_for(failure.code(), &task.spec.overrides);
    let (count, of) = match failure.class() {
        Class::CodeError => (state.signatures().count(failure.signature), limits.per_signature),
        Class::EnvError => {
            let most = task.counters.transient.iter().map(|transient| transient.count).max();
            (most.unwrap_or(0), limits.transient)
        }
        // A retry cannot help.
        Class::NeverRetry => (1, 1),
    };
    (count.max(1), of)
}
