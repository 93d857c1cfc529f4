//! Parses responses of the protocol Responses. Does no I/O.

use serde_json::{Value, json};

use super::super::super::http::{ProblemClass, ProviderProblem, ResponseHead, StreamParser};
use super::super::error;
use super::wire::{ResponsesBody, ResponsesEvent};
use crate::agent::Usage;
use crate::model::MessagePart;

/// The state of a stream. Deltas are skipped, because each item is repeated whole at its end.
#[derive(Debug, Default)]
pub(in super::super) struct ResponsesParser {
    items: Vec<Value>,
    used: Option<Usage>,
    completed: bool,
}

impl StreamParser for ResponsesParser {
    fn classify_refusal(head: &ResponseHead, body: &[u8]) -> ProviderProblem {
        error::classify_refusal(head, body)
    }

    fn handle_event(&mut self, data: &[u8]) -> Result<bool, ProviderProblem> {
        let event: ResponsesEvent<'_> = serde_json::from_slice(data).map_err(|error| {
            ProviderProblem::not_understood(&format!("an event is no JSON: {error}"))
        })?;
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
                return Err(error::classify_stream_error(&error.unwrap_or_default()));
            }
            "error" => return Err(error::classify_stream_error(&extract_error(event))),
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
                        return Err(error::stopped_problem(ProblemClass::Refused, "refusal")
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
            let input = error::parse_arguments(item["arguments"].as_str().unwrap_or_default())?;
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
    error::stopped_problem(trouble, &reason)
}

fn extract_error(event: ResponsesEvent<'_>) -> Value {
    event.error.unwrap_or_else(|| json!({"code": event.code, "message": event.message}))
}
