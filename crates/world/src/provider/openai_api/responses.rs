//! The protocol Responses, the vendor's own, with reasoning that can be sent back.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::http::{ProblemClass, ProviderProblem, ResponseHead, StreamParser, parse_event};
use super::shared::{self, OpenAiFunction, OpenAiUsage, mark_failed};
use crate::agent::Usage;
use crate::model::{MessagePart, MessageRole, ModelMessage, ModelRequest, ToolSpec};

/// The body of a request. The service stores nothing, because the conversation is kept here.
#[derive(Serialize)]
pub(super) struct ResponsesRequest<'a> {
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
    pub(super) fn new(model: &'a str, request: ModelRequest<'a>, effort: Option<&'a str>) -> Self {
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
struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    item: Option<Value>,
    response: Option<ResponsesBody>,
    /// The error of an `error` event: an object, or the fields `code` and `message` of the event
    /// itself.
    error: Option<Value>,
    code: Option<Value>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct ResponsesBody {
    #[serde(default)]
    output: Vec<Value>,
    usage: Option<OpenAiUsage>,
    error: Option<Value>,
    incomplete_details: Option<IncompleteDetails>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

/// The state of a stream. Deltas are skipped, because each item is repeated whole at its end.
#[derive(Debug, Default)]
pub(super) struct ResponsesParser {
    items: Vec<Value>,
    used: Option<Usage>,
    completed: bool,
}

impl StreamParser for ResponsesParser {
    fn classify_refusal(head: &ResponseHead, body: &[u8]) -> ProviderProblem {
        shared::classify_refusal(head, body)
    }

    fn handle_event(&mut self, data: &[u8]) -> Result<bool, ProviderProblem> {
        let event: ResponsesEvent<'_> = parse_event(data)?;
        if let Some(used) = event.response.as_ref().and_then(|response| response.usage.as_ref()) {
            self.used = Some(used.to_usage());
        }
        match &*event.kind {
            "response.output_item.done" => self.items.extend(event.item),
            "response.completed" => {
                let output = event.response.map(|response| response.output).unwrap_or_default();
                // The items as they arrived, or all of them at the end.
                if self.items.is_empty() {
                    self.items = output;
                }
                self.completed = true;
            }
            "response.incomplete" => return Err(incomplete_problem(event.response)),
            "response.failed" => {
                let error = event.response.and_then(|response| response.error);
                return Err(shared::classify_stream_error(&error.unwrap_or_default()));
            }
            "error" => return Err(shared::classify_stream_error(&extract_error(event))),
            _ => {}
        }
        Ok(self.completed)
    }

    fn finish_turn(&mut self) -> Result<Vec<MessagePart>, ProviderProblem> {
        if !self.completed {
            return Err(ProviderProblem::ended_early());
        }
        let mut parts = Vec::with_capacity(self.items.len());
        for item in self.items.drain(..) {
            push_parts(item, &mut parts)?;
        }
        Ok(parts)
    }

    fn reported_usage(&self) -> Option<Usage> {
        self.used
    }
}

fn push_parts(mut item: Value, parts: &mut Vec<MessagePart>) -> Result<(), ProviderProblem> {
    match item["type"].as_str() {
        Some("message") => {
            for content in item["content"].as_array().into_iter().flatten() {
                match (content["type"].as_str(), content["text"].as_str()) {
                    (Some("refusal"), _) => {
                        let said = content["refusal"].as_str().unwrap_or_default();
                        return Err(ProviderProblem::stopped(ProblemClass::Refused, "refusal")
                            .with_model_text(said));
                    }
                    (Some("output_text"), Some(text)) => {
                        parts.push(MessagePart::Text { text: text.to_owned() });
                    }
                    _ => return Err(ProviderProblem::not_understood("a message has no words")),
                }
            }
        }
        Some("function_call") => {
            let (Value::String(id), Value::String(name)) =
                (item["call_id"].take(), item["name"].take())
            else {
                return Err(ProviderProblem::not_understood("a call has no name"));
            };
            let input = shared::parse_arguments(item["arguments"].as_str().unwrap_or_default())?;
            parts.push(MessagePart::Call { id, name, input });
        }
        // Reasoning without encrypted content cannot be sent back, because the service stores none.
        Some("reasoning") if !item["encrypted_content"].is_string() => {}
        Some("reasoning") => parts.push(MessagePart::Opaque { value: item }),
        other => {
            let what = format!("it has an item of type {:?}", other.unwrap_or("none"));
            return Err(ProviderProblem::not_understood(&what));
        }
    }
    Ok(())
}

fn incomplete_problem(response: Option<ResponsesBody>) -> ProviderProblem {
    let details = response.and_then(|response| response.incomplete_details);
    let reason = details.and_then(|details| details.reason).unwrap_or_else(|| "none".to_owned());
    let trouble = match reason.as_str() {
        "max_output_tokens" => ProblemClass::OutputLimit,
        "content_filter" => ProblemClass::Refused,
        _ => ProblemClass::Unknown,
    };
    ProviderProblem::stopped(trouble, &reason)
}

fn extract_error(event: ResponsesEvent<'_>) -> Value {
    event.error.unwrap_or_else(|| json!({"code": event.code, "message": event.message}))
}
