//! The wire format of the protocol Responses.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::wire::{OpenAiFunction, OpenAiUsage, mark_failed};
use crate::model::{MessagePart, MessageRole, ModelMessage, ModelRequest, ToolSpec};

/// The body of a request. The service stores nothing, because the conversation is kept here.
#[derive(Serialize)]
pub(in super::super) struct ResponsesRequest<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<ResponsesItem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ResponsesTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOptions<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
}

#[derive(Serialize)]
struct ReasoningOptions<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesItem<'a> {
    Message {
        role: MessageRole,
        content: [ResponsesContent<'a>; 1],
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
struct ResponsesContent<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    function: OpenAiFunction<'a>,
    strict: bool,
}

impl<'a> ResponsesRequest<'a> {
    pub(in super::super) fn new(
        model: &'a str,
        request: ModelRequest<'a>,
        effort: Option<&'a str>,
    ) -> Self {
        Self {
            model,
            stream: true,
            store: false,
            max_output_tokens: request.output_tokens_max,
            instructions: request.system,
            input: request.messages.iter().flat_map(build_items).collect(),
            tools: request.tools.iter().map(build_tool).collect(),
            reasoning: effort.map(|effort| ReasoningOptions { effort }),
            // Since the service does not store it, reasoning is sent back and forth, encrypted.
            include: if effort.is_some() { &["reasoning.encrypted_content"] } else { &[] },
        }
    }
}

fn build_items(message: &ModelMessage) -> impl Iterator<Item = ResponsesItem<'_>> {
    message.parts.iter().filter_map(|part| build_item(part, message.role))
}

fn build_item(part: &MessagePart, role: MessageRole) -> Option<ResponsesItem<'_>> {
    Some(match part {
        MessagePart::Text { text } if text.is_empty() => return None,
        MessagePart::Text { text } => {
            let r#type = match role {
                MessageRole::User => "input_text",
                MessageRole::Assistant => "output_text",
            };
            ResponsesItem::Message { role, content: [ResponsesContent { r#type, text }] }
        }
        MessagePart::Call { id, name, input } => {
            ResponsesItem::FunctionCall { call_id: id, name, arguments: input.to_string() }
        }
        MessagePart::Result { id, output, failed: bad } => {
            ResponsesItem::FunctionCallOutput { call_id: id, output: mark_failed(output, *bad) }
        }
        MessagePart::Opaque { value } if value["type"] == "reasoning" => {
            ResponsesItem::Opaque(value)
        }
        // A part of another provider's own format.
        MessagePart::Opaque { .. } => return None,
    })
}

fn build_tool(spec: &ToolSpec) -> ResponsesTool<'_> {
    ResponsesTool { r#type: "function", function: OpenAiFunction::new(spec), strict: false }
}

/// An event. All kinds share one type, because a tagged enum would have every event parsed twice.
#[derive(Deserialize)]
pub(super) struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) item: Option<Value>,
    pub(super) response: Option<ResponsesBody>,
    /// The error of an `error` event: an object, or the fields `code` and `message` of the event
    /// itself.
    pub(super) error: Option<Value>,
    pub(super) code: Option<Value>,
    pub(super) message: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ResponsesBody {
    #[serde(default)]
    pub(super) output: Vec<Value>,
    pub(super) usage: Option<OpenAiUsage>,
    pub(super) error: Option<Value>,
    pub(super) incomplete_details: Option<IncompleteDetails>,
}

#[derive(Deserialize)]
pub(super) struct IncompleteDetails {
    pub(super) reason: Option<String>,
}
