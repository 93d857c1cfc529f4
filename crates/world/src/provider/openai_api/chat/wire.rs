//! The wire format of Chat Completions.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::wire::{OpenAiFunction, OpenAiUsage, mark_failed};
use crate::model::{MessagePart, MessageRole, ModelMessage, ModelRequest, ToolSpec};

/// The body of a request.
#[derive(Serialize)]
pub(in super::super) struct ChatRequest<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    /// The limit of output tokens, under the vendor's own name; other services use `max_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    messages: Vec<ChatMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum ChatMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Cow<'a, str>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct ChatToolCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: ChatFunctionCall<'a>,
}

#[derive(Serialize)]
struct ChatFunctionCall<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct ChatTool<'a> {
    r#type: &'static str,
    function: OpenAiFunction<'a>,
}

impl<'a> ChatRequest<'a> {
    pub(in super::super) fn new(
        model: &'a str,
        request: ModelRequest<'a>,
        effort: Option<&'a str>,
        vendors_own: bool,
    ) -> Self {
        let longest = request.output_tokens_max;
        let system = Some(request.system).filter(|text| !text.is_empty());
        let mut messages: Vec<ChatMessage<'a>> =
            system.map(|content| ChatMessage::System { content }).into_iter().collect();
        for message in request.messages {
            push_messages(message, &mut messages);
        }
        Self {
            model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            max_completion_tokens: vendors_own.then_some(longest),
            max_tokens: (!vendors_own).then_some(longest),
            reasoning_effort: effort,
            messages,
            tools: request.tools.iter().map(build_tool).collect(),
        }
    }
}

fn push_messages<'a>(message: &'a ModelMessage, into: &mut Vec<ChatMessage<'a>>) {
    // Results come first: each has to follow its call directly.
    for part in &message.parts {
        if let MessagePart::Result { id, output, failed: bad } = part {
            into.push(ChatMessage::Tool { tool_call_id: id, content: mark_failed(output, *bad) });
        }
    }
    let text = join_text(message);
    match message.role {
        MessageRole::User => into.extend(text.map(|content| ChatMessage::User { content })),
        MessageRole::Assistant => {
            let tool_calls: Vec<ChatToolCall<'a>> =
                message.parts.iter().filter_map(build_tool_call).collect();
            if text.is_some() || !tool_calls.is_empty() {
                into.push(ChatMessage::Assistant { content: text, tool_calls });
            }
        }
    }
}

fn join_text(message: &ModelMessage) -> Option<Cow<'_, str>> {
    let mut texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    let first = Cow::Borrowed(texts.next()?);
    Some(texts.fold(first, |all, more| Cow::Owned(format!("{all}\n{more}"))))
}

fn build_tool_call(part: &MessagePart) -> Option<ChatToolCall<'_>> {
    let MessagePart::Call { id, name, input } = part else { return None };
    let function = ChatFunctionCall { name, arguments: input.to_string() };
    Some(ChatToolCall { id, r#type: "function", function })
}

fn build_tool(spec: &ToolSpec) -> ChatTool<'_> {
    ChatTool { r#type: "function", function: OpenAiFunction::new(spec) }
}

/// A chunk of the response.
#[derive(Deserialize)]
pub(super) struct ChatChunk<'a> {
    #[serde(borrow, default)]
    pub(super) choices: Vec<ChatChoice<'a>>,
    pub(super) usage: Option<OpenAiUsage>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct ChatChoice<'a> {
    #[serde(default)]
    pub(super) index: u32,
    #[serde(borrow)]
    pub(super) delta: Option<ChatDelta<'a>>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ChatDelta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<ChatText<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<ChatText<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ChatCallDelta<'a>>>,
}

/// Text that borrows from the input where possible.
#[derive(Deserialize)]
pub(super) struct ChatText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[derive(Deserialize)]
pub(super) struct ChatCallDelta<'a> {
    pub(super) index: Option<usize>,
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) function: Option<ChatFunctionDelta<'a>>,
}

#[derive(Deserialize)]
pub(super) struct ChatFunctionDelta<'a> {
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) arguments: Option<ChatText<'a>>,
}
