//! The direction of a session: what its runtime is to do now.

use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::fault::Code;
use unstuck_core::tell::{Decision, SessionDirection};
use unstuck_core::time::Time;
use unstuck_runner::{StateQuery, StateQueryResult};
use unstuck_store::tables::TaskRow;

use crate::api::asked::{self, Asked};
use crate::problem::Problem;
use crate::site::HostedProject;

/// The direction of a runtime, and the data it needs for that.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionDirection")]
pub(super) struct ApiSessionDirection {
    /// `retry`: the runtime may work. `wait`: not before `until`. `ask`: not before a person has
    /// answered `question`. `stop`: no more.
    pub(super) decision: Decision,
    /// Number of times that this error occurred, including the last; 0 if nothing has failed.
    pub(super) attempt: u32,
    /// Number of attempts before a person is asked.
    pub(super) of: u32,
    /// The code of the last failure.
    pub(super) code: Option<Code>,
    /// The time at which the session continues by itself, in milliseconds since the Unix epoch;
    /// absent if it is not known.
    pub(super) until: Option<Time>,
    /// The question that a person has to answer.
    pub(super) question: Option<Asked>,
    /// Text for the agent to read first: a person's guidance, the last failure, and the need for
    /// another approach.
    pub(super) context: Option<String>,
}

impl ApiSessionDirection {
    /// Reads the current direction of a session.
    pub(super) async fn load_for_task(
        room: &HostedProject,
        task: &TaskRow,
    ) -> Result<Self, Problem> {
        let policy = Box::new((*room.host.policy()).clone());
        let looked = room.host.look_up(StateQuery::Session { task: task.id, policy }).await?;
        let StateQueryResult::Session(Some(told)) = looked else {
            return Ok(Self::for_ended_task(task));
        };
        let SessionDirection { decision, attempt, of, code, until, question, context } = *told;
        let question = match question {
            Some(id) => asked::load_question(room.store.as_ref(), &room.name, id).await?,
            None => None,
        };
        Ok(Self { decision, attempt, of, code, until, question, context })
    }

    /// Returns the direction of a session that is over: the engine no longer has it, the store
    /// does.
    fn for_ended_task(task: &TaskRow) -> Self {
        Self {
            decision: Decision::Stop,
            attempt: 0,
            of: 0,
            code: task.moved.failure.as_ref().map(|failure| failure.code()),
            until: None,
            question: None,
            context: None,
        }
    }

    /// Returns whether the runtime may work, or has to stop.
    pub(super) const fn is_settled(&self) -> bool {
        matches!(self.decision, Decision::Retry | Decision::Stop)
    }
}
