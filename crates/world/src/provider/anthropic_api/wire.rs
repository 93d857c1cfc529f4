//! The wire format of Anthropic Messages.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{Message, Part, Request, Role, ToolSpec};

/// The body of a request.
#[derive(Serialize)]
pub(super) struct Ask<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct Said<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
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
        cache_control: Option<Cache>,
    },
    #[serde(untagged)]
    Opaque(&'a Value),
}

/// The marker of a cache breakpoint: everything up to its block is cached for some minutes and
/// costs less to read again.
#[derive(Clone, Copy, Serialize)]
struct Cache {
    r#type: &'static str,
}

const CACHE: Cache = Cache { r#type: "ephemeral" };

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl<'a> Ask<'a> {
    pub(super) fn new(model: &'a str, request: Request<'a>) -> Self {
        let system = Some(request.system).filter(|text| !text.is_empty());
        let mut messages: Vec<Said<'a>> = request.messages.iter().filter_map(said).collect();
        // A conversation only grows: all of it is the prefix of the next request.
        if let Some(block) = messages.last_mut().and_then(|message| message.content.last_mut()) {
            block.keep();
        }
        Self {
            model,
            max_tokens: request.output_tokens_max,
            stream: true,
            system: system
                .map(|text| Block::Text { text, cache_control: Some(CACHE) })
                .into_iter()
                .collect(),
            messages,
            tools: request.tools.iter().map(tool).collect(),
        }
    }
}

impl Block<'_> {
    fn keep(&mut self) {
        match self {
            Self::Text { cache_control, .. } | Self::ToolResult { cache_control, .. } => {
                *cache_control = Some(CACHE);
            }
            Self::ToolUse { .. } | Self::Opaque(_) => {}
        }
    }
}

/// Converts a message; returns `None` for an empty one, which the service rejects.
fn said(message: &Message) -> Option<Said<'_>> {
    let content: Vec<Block<'_>> = message.parts.iter().filter_map(block).collect();
    (!content.is_empty()).then_some(Said { role: message.role, content })
}

fn block(part: &Part) -> Option<Block<'_>> {
    match part {
        Part::Text { text } if text.is_empty() => None,
        Part::Text { text } => Some(Block::Text { text, cache_control: None }),
        Part::Call { id, name, input } => Some(Block::ToolUse { id, name, input }),
        Part::Result { id, output, failed } => Some(Block::ToolResult {
            tool_use_id: id,
            content: output,
            is_error: *failed,
            cache_control: None,
        }),
        note if note.is_paused() => None,
        // A part of another provider's own format.
        Part::Opaque { value } if value["type"] == "reasoning" => None,
        Part::Opaque { value } => Some(Block::Opaque(value)),
    }
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool { name: spec.name, description: spec.description, input_schema: &spec.input }
}

/// An event. All kinds share one type, because a tagged enum would have every event parsed twice.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) index: Option<usize>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    pub(super) content_block: Option<Value>,
    pub(super) message: Option<Begun>,
    pub(super) usage: Option<Used>,
    pub(super) error: Option<Error>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Words<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Words<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Words<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Words<'a>>,
    pub(super) stop_reason: Option<String>,
}

/// Text that borrows from the input where possible.
#[derive(Deserialize)]
pub(super) struct Words<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[derive(Deserialize)]
pub(super) struct Begun {
    pub(super) usage: Option<Used>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[expect(clippy::struct_field_names, reason = "they are the service's names")]
pub(super) struct Used {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct ErrorBody {
    pub(super) error: Error,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Error {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) message: String,
}
