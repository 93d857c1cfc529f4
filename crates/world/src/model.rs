//! A model behind an API: one turn of a conversation at a time.
//!
//! A client makes exactly one request per turn and types what went wrong; waiting, trying again
//! and shortening the conversation are decided elsewhere. What a conversation is made of is the
//! same for all of them, so that a checkpoint of one can be read whatever the provider.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;

use crate::agent::Usage;

/// A model behind an API.
#[async_trait]
pub trait Model: Send + Sync {
    /// Whether a call could be made: a key is set, the address makes sense. Costs no call.
    fn check(&self) -> Result<(), Fault>;

    /// Asks for the next turn. `None` when it was told to stop.
    async fn turn(
        &self,
        request: Request<'_>,
        stop: &CancellationToken,
    ) -> Option<Result<Turn, Failure>>;
}

/// What the next turn is asked for with.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What the model is told before everything else.
    pub system: &'a str,
    /// The conversation so far; it ends with something the model answers.
    pub messages: &'a [Message],
    /// What it can do.
    pub tools: &'a [ToolSpec],
    /// The longest answer.
    pub output_tokens_max: u32,
}

/// A tool, as a model is told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does and when to use it.
    pub description: &'static str,
    /// The JSON schema of its input.
    pub input: Value,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Whose it is.
    pub role: Role,
    /// What it consists of.
    pub parts: Vec<Part>,
}

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Ours: instructions and results of tools.
    User,
    /// The model's.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text {
        /// They.
        text: String,
    },
    /// The model wants a tool to be used.
    Call {
        /// Names the call.
        id: String,
        /// The tool.
        name: String,
        /// What it is given.
        input: Value,
    },
    /// What came of it.
    Result {
        /// The call.
        id: String,
        /// What the tool showed.
        output: String,
        /// Whether it failed.
        failed: bool,
    },
    /// Something of the provider's own that has to be handed back as it was: its reasoning.
    Opaque {
        /// As it came.
        value: Value,
    },
}

impl Part {
    const PAUSED: &str = "pause_turn";

    /// The last part of a turn that is not finished: asking again with it in the conversation goes
    /// on. It is our own note and no service sees it.
    pub fn paused() -> Self {
        Self::Opaque { value: serde_json::json!({ "type": Self::PAUSED }) }
    }

    /// Whether it says that the turn is not finished.
    pub fn is_paused(&self) -> bool {
        matches!(self, Self::Opaque { value } if value["type"] == Self::PAUSED)
    }
}

/// A turn of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What it said and wants done; calls of tools are among it, or it is finished.
    pub parts: Vec<Part>,
    /// What the call used.
    pub usage: Usage,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How.
    pub fault: Box<Fault>,
    /// What it used all the same: a stream that was cut has been paid for.
    pub usage: Usage,
}
