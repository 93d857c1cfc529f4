//! The protocol Chat Completions, which nearly all services speak.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::http::{
    ProblemClass, ProviderProblem, ResponseHead, StreamParser, StreamText, parse_event,
};
use super::shared::{self, OpenAiFunction, OpenAiUsage, mark_failed};
use crate::agent::Usage;
use crate::model::{MessagePart, MessageRole, ModelMessage, ModelRequest, ToolSpec};

#[derive(Serialize)]
pub(super) struct ChatRequest<'a> {
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
    pub(super) fn new(
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

#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(borrow, default)]
    choices: Vec<ChatChoice<'a>>,
    usage: Option<OpenAiUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct ChatChoice<'a> {
    #[serde(default)]
    index: u32,
    #[serde(borrow)]
    delta: Option<ChatDelta<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatDelta<'a> {
    #[serde(borrow)]
    content: Option<StreamText<'a>>,
    #[serde(borrow)]
    refusal: Option<StreamText<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ChatCallDelta<'a>>>,
}

#[derive(Deserialize)]
struct ChatCallDelta<'a> {
    index: Option<usize>,
    id: Option<String>,
    #[serde(borrow)]
    function: Option<ChatFunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct ChatFunctionDelta<'a> {
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<StreamText<'a>>,
}

const CALLS_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct ChatParser {
    text: String,
    calls: Vec<PartialChatCall>,
    refusal: String,
    finish_reason: Option<String>,
    used: Option<Usage>,
}

#[derive(Debug, Default)]
struct PartialChatCall {
    id: String,
    name: String,
    arguments: String,
}

impl StreamParser for ChatParser {
    fn classify_refusal(head: &ResponseHead, body: &[u8]) -> ProviderProblem {
        shared::classify_refusal(head, body)
    }

    fn handle_event(&mut self, data: &[u8]) -> Result<bool, ProviderProblem> {
        if data == b"[DONE]" {
            return Ok(true);
        }
        let chunk: ChatChunk<'_> = parse_event(data)?;
        if let Some(wrong) = chunk.error {
            return Err(shared::classify_stream_error(&wrong));
        }
        if let Some(used) = &chunk.usage {
            self.used = Some(used.to_usage());
        }
        // Only one choice was requested.
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            if let Some(delta) = choice.delta {
                self.apply_delta(&delta)?;
            }
            self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        }
        Ok(false)
    }

    fn finish_turn(&mut self) -> Result<Vec<MessagePart>, ProviderProblem> {
        match self.finish_reason.as_deref() {
            None => return Err(ProviderProblem::ended_early()),
            Some("stop" | "tool_calls" | "function_call") => {}
            Some("length") => {
                return Err(ProviderProblem::stopped(ProblemClass::OutputLimit, "length"));
            }
            Some("content_filter") => {
                let problem = ProviderProblem::stopped(ProblemClass::Refused, "content_filter");
                return Err(problem.with_model_text(&self.text));
            }
            Some(other) => return Err(ProviderProblem::stopped(ProblemClass::Unknown, other)),
        }
        if !self.refusal.is_empty() {
            return Err(ProviderProblem::stopped(ProblemClass::Refused, "refusal")
                .with_model_text(&self.refusal));
        }
        let text = std::mem::take(&mut self.text);
        let mut parts: Vec<MessagePart> = Vec::new();
        if !text.is_empty() {
            parts.push(MessagePart::Text { text });
        }
        for call in self.calls.drain(..) {
            if call.name.is_empty() || call.id.is_empty() {
                return Err(ProviderProblem::not_understood("a call has no name"));
            }
            let input = shared::parse_arguments(&call.arguments)?;
            parts.push(MessagePart::Call { id: call.id, name: call.name, input });
        }
        Ok(parts)
    }

    fn reported_usage(&self) -> Option<Usage> {
        self.used
    }
}

impl ChatParser {
    fn apply_delta(&mut self, delta: &ChatDelta<'_>) -> Result<(), ProviderProblem> {
        if let Some(words) = &delta.content {
            self.text.push_str(&words.0);
        }
        self.refusal.push_str(delta.refusal.as_ref().map_or("", |words| &words.0));
        delta.tool_calls.iter().flatten().try_for_each(|call| self.apply_call_delta(call))
    }

    fn apply_call_delta(&mut self, delta: &ChatCallDelta<'_>) -> Result<(), ProviderProblem> {
        // Some services leave the index out and send each call whole.
        let whole = usize::from(delta.id.is_some());
        let index = delta.index.unwrap_or((self.calls.len() + whole).saturating_sub(1));
        if index >= self.calls.len() {
            if index != self.calls.len() || index >= CALLS_MAX {
                return Err(ProviderProblem::not_understood("a call is out of order"));
            }
            self.calls.push(PartialChatCall::default());
        }
        let call = &mut self.calls[index];
        if let Some(id) = &delta.id {
            call.id.clone_from(id);
        }
        if let Some(function) = &delta.function {
            if let Some(name) = &function.name {
                call.name.clone_from(name);
            }
            call.arguments.push_str(function.arguments.as_ref().map_or("", |words| &words.0));
        }
        Ok(())
    }
}
