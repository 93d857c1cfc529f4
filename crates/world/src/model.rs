//! A model behind an API, called for one turn of a conversation at a time.
//!
//! A client makes exactly one request per turn and types the failure; backoff, retry and shortening
//! the conversation are decided elsewhere. All providers share the same parts of a conversation, so
//! that a checkpoint can be read with any of them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;

use crate::agent::Usage;

/// A model behind an API.
#[async_trait]
pub trait Model: Send + Sync {
    /// Checks that a call can be made: a key is set and the URL is valid. Makes no call.
    fn check_ready(&self) -> Result<(), Fault>;

    /// Requests the next turn. Returns `None` if `stop` was canceled.
    async fn request_turn(
        &self,
        request: ModelRequest<'_>,
        stop: &CancellationToken,
    ) -> Option<Result<ModelTurn, ModelFailure>>;
}

/// The request for the next turn.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The conversation so far; the last message is one for the model to answer.
    pub messages: &'a [ModelMessage],
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
    /// Maximum number of output tokens.
    pub output_tokens_max: u32,
}

/// The definition of a tool, as it is sent to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// The name by which the model calls the tool.
    pub name: &'static str,
    /// The purpose of the tool, and the situations to use it in.
    pub description: &'static str,
    /// The JSON schema of the tool's input.
    pub input: Value,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelMessage {
    /// The author of the message.
    pub role: MessageRole,
    /// The parts of the message, in order.
    pub parts: Vec<MessagePart>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// Unstuck: instructions and results of tools.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum MessagePart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A request of the model to call a tool.
    Call {
        /// The id of the call; its [`MessagePart::Result`] carries the same id.
        id: String,
        /// The name of the tool.
        name: String,
        /// The input of the tool.
        input: Value,
    },
    /// The result of a call.
    Result {
        /// The id of the call.
        id: String,
        /// The output of the tool.
        output: String,
        /// `true` if the call failed.
        failed: bool,
    },
    /// A part of the provider's own format that has to be sent back unchanged: its reasoning.
    Opaque {
        /// The part, unchanged.
        value: Value,
    },
}

impl MessagePart {
    const PAUSED: &str = "pause_turn";

    /// Returns the part that marks an unfinished turn, as its last part: a new request with it in
    /// the conversation continues the turn. The mark is internal and is sent to no service.
    pub fn pause_mark() -> Self {
        Self::Opaque { value: serde_json::json!({ "type": Self::PAUSED }) }
    }

    /// Returns whether the part marks an unfinished turn.
    pub fn is_paused(&self) -> bool {
        matches!(self, Self::Opaque { value } if value["type"] == Self::PAUSED)
    }
}

/// A turn of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelTurn {
    /// The text and the calls of the turn; a turn without calls is the last one.
    pub parts: Vec<MessagePart>,
    /// The usage of the call.
    pub usage: Usage,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFailure {
    /// The fault that the call failed with.
    pub fault: Box<Fault>,
    /// The usage of the failed call: an interrupted stream has been paid for as well.
    pub usage: Usage,
}
