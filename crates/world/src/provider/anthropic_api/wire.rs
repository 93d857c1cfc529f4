//! The wire format of Anthropic Messages.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::http::StreamText;
use crate::model::{MessagePart, MessageRole, ModelMessage, ModelRequest, ToolSpec};

#[derive(Serialize)]
pub(super) struct AnthropicRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<AnthropicBlock<'a>>,
    messages: Vec<AnthropicMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: MessageRole,
    content: Vec<AnthropicBlock<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicBlock<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a Value,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    #[serde(untagged)]
    Opaque(&'a Value),
}

/// The marker of a cache breakpoint: everything up to its block is cached for some minutes and
/// costs less to read again.
#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    r#type: &'static str,
}

const CACHE: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl<'a> AnthropicRequest<'a> {
    pub(super) fn new(model: &'a str, request: ModelRequest<'a>) -> Self {
        let system = Some(request.system).filter(|text| !text.is_empty());
        let mut messages: Vec<AnthropicMessage<'a>> =
            request.messages.iter().filter_map(build_message).collect();
        // A conversation only grows: all of it is the prefix of the next request.
        if let Some(block) = messages.last_mut().and_then(|message| message.content.last_mut()) {
            block.mark_cached();
        }
        Self {
            model,
            max_tokens: request.output_tokens_max,
            stream: true,
            system: system
                .map(|text| AnthropicBlock::Text { text, cache_control: Some(CACHE) })
                .into_iter()
                .collect(),
            messages,
            tools: request.tools.iter().map(build_tool).collect(),
        }
    }
}

impl AnthropicBlock<'_> {
    fn mark_cached(&mut self) {
        match self {
            Self::Text { cache_control, .. } | Self::ToolResult { cache_control, .. } => {
                *cache_control = Some(CACHE);
            }
            Self::ToolUse { .. } | Self::Opaque(_) => {}
        }
    }
}

/// Converts a message; returns `None` for an empty one, which the service rejects.
fn build_message(message: &ModelMessage) -> Option<AnthropicMessage<'_>> {
    let content: Vec<AnthropicBlock<'_>> = message.parts.iter().filter_map(build_block).collect();
    (!content.is_empty()).then_some(AnthropicMessage { role: message.role, content })
}

fn build_block(part: &MessagePart) -> Option<AnthropicBlock<'_>> {
    match part {
        MessagePart::Text { text } if text.is_empty() => None,
        MessagePart::Text { text } => Some(AnthropicBlock::Text { text, cache_control: None }),
        MessagePart::Call { id, name, input } => Some(AnthropicBlock::ToolUse { id, name, input }),
        MessagePart::Result { id, output, failed } => Some(AnthropicBlock::ToolResult {
            tool_use_id: id,
            content: output,
            is_error: *failed,
            cache_control: None,
        }),
        note if note.is_paused() => None,
        // A part of another provider's own format.
        MessagePart::Opaque { value } if value["type"] == "reasoning" => None,
        MessagePart::Opaque { value } => Some(AnthropicBlock::Opaque(value)),
    }
}

fn build_tool(spec: &ToolSpec) -> AnthropicTool<'_> {
    AnthropicTool { name: spec.name, description: spec.description, input_schema: &spec.input }
}

/// An event. All kinds share one type, because a tagged enum would have every event parsed twice.
#[derive(Deserialize)]
pub(super) struct AnthropicEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) index: Option<usize>,
    #[serde(borrow)]
    pub(super) delta: Option<AnthropicDelta<'a>>,
    pub(super) content_block: Option<Value>,
    pub(super) message: Option<AnthropicMessageStart>,
    pub(super) usage: Option<AnthropicUsage>,
    pub(super) error: Option<AnthropicError>,
}

#[derive(Deserialize)]
pub(super) struct AnthropicDelta<'a> {
    #[serde(borrow)]
    pub(super) text: Option<StreamText<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<StreamText<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<StreamText<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<StreamText<'a>>,
    pub(super) stop_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct AnthropicMessageStart {
    pub(super) usage: Option<AnthropicUsage>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[expect(clippy::struct_field_names, reason = "they are the service's names")]
pub(super) struct AnthropicUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct AnthropicErrorBody {
    pub(super) error: AnthropicError,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AnthropicError {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) message: String,
}
