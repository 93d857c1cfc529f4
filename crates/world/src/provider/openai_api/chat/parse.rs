//! Parses responses of Chat Completions. Does no I/O.

use super::super::super::http::{Head, Problem, Reading, Trouble};
use super::super::error;
use super::wire::{CallDelta, Chunk, Delta};
use crate::agent::Usage;
use crate::model::Part;

/// Maximum number of calls in a response.
const CALLS_MAX: usize = 1_024;

/// The state of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Reader {
    text: String,
    calls: Vec<Call>,
    /// The text of a refusal.
    refusal: String,
    finish_reason: Option<String>,
    used: Option<Usage>,
}

#[derive(Debug, Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

impl Reading for Reader {
    fn refused(head: &Head, body: &[u8]) -> Problem {
        error::refused(head, body)
    }

    fn event(&mut self, data: &[u8]) -> Result<bool, Problem> {
        if data == b"[DONE]" {
            return Ok(true);
        }
        let chunk: Chunk<'_> = serde_json::from_slice(data)
            .map_err(|error| Problem::not_understood(&format!("an event is no JSON: {error}")))?;
        if let Some(wrong) = chunk.error {
            return Err(error::mid_stream(&wrong));
        }
        if let Some(used) = &chunk.usage {
            self.used = Some(used.usage());
        }
        // Only one choice was requested.
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            if let Some(delta) = choice.delta {
                self.delta(&delta)?;
            }
            self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        }
        Ok(false)
    }

    fn finish(&mut self) -> Result<Vec<Part>, Problem> {
        match self.finish_reason.as_deref() {
            None => return Err(Problem::ended_early()),
            Some("stop" | "tool_calls" | "function_call") => {}
            Some("length") => return Err(error::stopped(Trouble::OutputLimit, "length")),
            Some("content_filter") => {
                let problem = error::stopped(Trouble::Refused, "content_filter");
                return Err(problem.saying(&self.text));
            }
            Some(other) => return Err(error::stopped(Trouble::Unknown, other)),
        }
        if !self.refusal.is_empty() {
            return Err(error::stopped(Trouble::Refused, "refusal").saying(&self.refusal));
        }
        let text = std::mem::take(&mut self.text);
        let mut parts: Vec<Part> = Vec::new();
        if !text.is_empty() {
            parts.push(Part::Text { text });
        }
        for call in self.calls.drain(..) {
            if call.name.is_empty() || call.id.is_empty() {
                return Err(Problem::not_understood("a call has no name"));
            }
            let input = error::arguments(&call.arguments)?;
            parts.push(Part::Call { id: call.id, name: call.name, input });
        }
        Ok(parts)
    }

    fn usage(&self) -> Option<Usage> {
        self.used
    }
}

impl Reader {
    fn delta(&mut self, delta: &Delta<'_>) -> Result<(), Problem> {
        if let Some(words) = &delta.content {
            self.text.push_str(&words.0);
        }
        self.refusal.push_str(delta.refusal.as_ref().map_or("", |words| &words.0));
        delta.tool_calls.iter().flatten().try_for_each(|call| self.call(call))
    }

    fn call(&mut self, delta: &CallDelta<'_>) -> Result<(), Problem> {
        // Some services leave the index out and send each call whole.
        let whole = usize::from(delta.id.is_some());
        let index = delta.index.unwrap_or((self.calls.len() + whole).saturating_sub(1));
        if index >= self.calls.len() {
            if index != self.calls.len() || index >= CALLS_MAX {
                return Err(Problem::not_understood("a call is out of order"));
            }
            self.calls.push(Call::default());
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
