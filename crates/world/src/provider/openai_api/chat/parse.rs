//! Parses responses of Chat Completions. Does no I/O.

use super::super::super::http::{ProblemClass, ProviderProblem, ResponseHead, StreamParser};
use super::super::error;
use super::wire::{ChatCallDelta, ChatChunk, ChatDelta};
use crate::agent::Usage;
use crate::model::MessagePart;

/// Maximum number of calls in a response.
const CALLS_MAX: usize = 1_024;

/// The state of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct ChatParser {
    text: String,
    calls: Vec<PartialChatCall>,
    /// The text of a refusal.
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
        error::classify_refusal(head, body)
    }

    fn handle_event(&mut self, data: &[u8]) -> Result<bool, ProviderProblem> {
        if data == b"[DONE]" {
            return Ok(true);
        }
        let chunk: ChatChunk<'_> = serde_json::from_slice(data).map_err(|error| {
            ProviderProblem::not_understood(&format!("an event is no JSON: {error}"))
        })?;
        if let Some(wrong) = chunk.error {
            return Err(error::classify_stream_error(&wrong));
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
                return Err(error::stopped_problem(ProblemClass::OutputLimit, "length"));
            }
            Some("content_filter") => {
                let problem = error::stopped_problem(ProblemClass::Refused, "content_filter");
                return Err(problem.with_model_text(&self.text));
            }
            Some(other) => return Err(error::stopped_problem(ProblemClass::Unknown, other)),
        }
        if !self.refusal.is_empty() {
            return Err(error::stopped_problem(ProblemClass::Refused, "refusal")
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
            let input = error::parse_arguments(&call.arguments)?;
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
