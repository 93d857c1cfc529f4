//! What a runtime is to do now.

use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::fault::Code;
use unstuck_core::tell::{Decision, Direction};
use unstuck_core::time::Time;
use unstuck_runner::{Look, Looked};
use unstuck_store::tables::TaskRow;

use crate::api::asked::{self, Asked};
use crate::problem::Problem;
use crate::site::Room;

/// What a runtime is to do now, and what it has to know for that.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionDirection")]
pub(super) struct Directed {
    /// `retry`: it is its turn. `wait`: not before `until`. `ask`: not before a person has answered
    /// `question`. `stop`: not any more.
    pub(super) decision: Decision,
    /// How often this error was met, the last time included; 0 while nothing has failed.
    pub(super) attempt: u32,
    /// How many attempts there are before a person is asked.
    pub(super) of: u32,
    /// What failed last.
    pub(super) code: Option<Code>,
    /// When it goes on by itself, in milliseconds since the Unix epoch; absent where that is not known.
    pub(super) until: Option<Time>,
    /// The question that a person has to answer.
    pub(super) question: Option<Asked>,
    /// What the agent reads first: a person's guidance, what failed, and that it takes another way.
    pub(super) context: Option<String>,
}

impl Directed {
    /// What the runtime of this session is to do now.
    pub(super) async fn read(room: &Room, task: &TaskRow) -> Result<Self, Problem> {
        let policy = Box::new((*room.desk.policy()).clone());
        let looked = room.desk.look(Look::Session { task: task.id, policy }).await?;
        let Looked::Session(Some(told)) = looked else { return Ok(Self::over(task)) };
        let Direction { decision, attempt, of, code, until, question, context } = *told;
        let question = match question {
            Some(id) => asked::read(room.store.as_ref(), &room.name, id).await?,
            None => None,
        };
        Ok(Self { decision, attempt, of, code, until, question, context })
    }

    /// The engine forgets sessions that are over; the store does not.
    fn over(task: &TaskRow) -> Self {
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

    /// Whether the runtime has something to do, or nothing any more.
    pub(super) const fn is_settled(&self) -> bool {
        matches!(self.decision, Decision::Retry | Decision::Stop)
    }
}
