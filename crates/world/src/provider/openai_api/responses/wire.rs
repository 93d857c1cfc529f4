//! The wire format of the protocol Responses.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::wire::{Function, Used, failed};
use crate::model::{Message, Part, Request, Role, ToolSpec};

/// The body of a request. The service stores nothing, because the conversation is kept here.
#[derive(Serialize)]
pub(in super::super) struct Ask<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
}

#[derive(Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: Role,
        content: [Content<'a>; 1],
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Cow<'a, str>,
    },
    #[serde(untagged)]
    Opaque(&'a Value),
}

#[derive(Serialize)]
struct Content<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    function: Function<'a>,
    strict: bool,
}

impl<'a> Ask<'a> {
    pub(in super::super) fn new(
        model: &'a str,
        request: Request<'a>,
        effort: Option<&'a str>,
    ) -> Self {
        Self {
            model,
            stream: true,
            store: false,
            max_output_tokens: request.output_tokens_max,
            instructions: request.system,
            input: request.messages.iter().flat_map(items).collect(),
            tools: request.tools.iter().map(tool).collect(),
            reasoning: effort.map(|effort| Reasoning { effort }),
            // Since the service does not store it, reasoning is sent back and forth, encrypted.
            include: if effort.is_some() { &["reasoning.encrypted_content"] } else { &[] },
        }
    }
}

fn items(message: &Message) -> impl Iterator<Item = Item<'_>> {
    message.parts.iter().filter_map(|part| item(part, message.role))
}

fn item(part: &Part, role: Role) -> Option<Item<'_>> {
    Some(match part {
        Part::Text { text } if text.is_empty() => return None,
        Part::Text { text } => {
            let r#type = match role {
                Role::User => "input_text",
                Role::Assistant => "output_text",
            };
            Item::Message { role, content: [Content { r#type, text }] }
        }
        Part::Call { id, name, input } => {
            Item::FunctionCall { call_id: id, name, arguments: input.to_string() }
        }
        Part::Result { id, output, failed: bad } => {
            Item::FunctionCallOutput { call_id: id, output: failed(output, *bad) }
        }
        Part::Opaque { value } if value["type"] == "reasoning" => Item::Opaque(value),
        // A part of another provider's own format.
        Part::Opaque { .. } => return None,
    })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool { r#type: "function", function: Function::new(spec), strict: false }
}

/// An event. All kinds share one type, because a tagged enum would have every event parsed twice.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) item: Option<Value>,
    pub(super) response: Option<Response>,
    /// The error of an `error` event: an object, or the fields `code` and `message` of the event
    /// itself.
    pub(super) error: Option<Value>,
    pub(super) code: Option<Value>,
    pub(super) message: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Response {
    #[serde(default)]
    pub(super) output: Vec<Value>,
    pub(super) usage: Option<Used>,
    pub(super) error: Option<Value>,
    pub(super) incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
pub(super) struct Incomplete {
    pub(super) reason: Option<String>,
}
