//! Parses responses of the protocol Responses. Does no I/O.

use serde_json::{Value, json};

use super::super::super::http::{Head, Problem, Reading, Trouble};
use super::super::error;
use super::wire::{Event, Response};
use crate::agent::Usage;
use crate::model::Part;

/// The state of a stream. Deltas are skipped, because each item is repeated whole at its end.
#[derive(Debug, Default)]
pub(in super::super) struct Reader {
    items: Vec<Value>,
    used: Option<Usage>,
    completed: bool,
}

impl Reading for Reader {
    fn refused(head: &Head, body: &[u8]) -> Problem {
        error::refused(head, body)
    }

    fn event(&mut self, data: &[u8]) -> Result<bool, Problem> {
        let event: Event<'_> = serde_json::from_slice(data)
            .map_err(|error| Problem::not_understood(&format!("an event is no JSON: {error}")))?;
        if let Some(used) = event.response.as_ref().and_then(|response| response.usage.as_ref()) {
            self.used = Some(used.usage());
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
            "response.incomplete" => return Err(incomplete(event.response)),
            "response.failed" => {
                let error = event.response.and_then(|response| response.error);
                return Err(error::mid_stream(&error.unwrap_or_default()));
            }
            "error" => return Err(error::mid_stream(&own(event))),
            _ => {}
        }
        Ok(self.completed)
    }

    fn finish(&mut self) -> Result<Vec<Part>, Problem> {
        if !self.completed {
            return Err(Problem::ended_early());
        }
        let mut parts = Vec::with_capacity(self.items.len());
        for item in self.items.drain(..) {
            part(item, &mut parts)?;
        }
        Ok(parts)
    }

    fn usage(&self) -> Option<Usage> {
        self.used
    }
}

fn part(mut item: Value, parts: &mut Vec<Part>) -> Result<(), Problem> {
    match item["type"].as_str() {
        Some("message") => {
            for content in item["content"].as_array().into_iter().flatten() {
                match (content["type"].as_str(), content["text"].as_str()) {
                    (Some("refusal"), _) => {
                        let said = content["refusal"].as_str().unwrap_or_default();
                        return Err(error::stopped(Trouble::Refused, "refusal").saying(said));
                    }
                    (Some("output_text"), Some(text)) => {
                        parts.push(Part::Text { text: text.to_owned() });
                    }
                    _ => return Err(Problem::not_understood("a message has no words")),
                }
            }
        }
        Some("function_call") => {
            let (Value::String(id), Value::String(name)) =
                (item["call_id"].take(), item["name"].take())
            else {
                return Err(Problem::not_understood("a call has no name"));
            };
            let input = error::arguments(item["arguments"].as_str().unwrap_or_default())?;
            parts.push(Part::Call { id, name, input });
        }
        // Reasoning without encrypted content cannot be sent back, because the service stores none.
        Some("reasoning") if !item["encrypted_content"].is_string() => {}
        Some("reasoning") => parts.push(Part::Opaque { value: item }),
        other => {
            let what = format!("it has an item of type {:?}", other.unwrap_or("none"));
            return Err(Problem::not_understood(&what));
        }
    }
    Ok(())
}

fn incomplete(response: Option<Response>) -> Problem {
    let details = response.and_then(|response| response.incomplete_details);
    let reason = details.and_then(|details| details.reason).unwrap_or_else(|| "none".to_owned());
    let trouble = match reason.as_str() {
        "max_output_tokens" => Trouble::OutputLimit,
        "content_filter" => Trouble::Refused,
        _ => Trouble::Unknown,
    };
    error::stopped(trouble, &reason)
}

fn own(event: Event<'_>) -> Value {
    event.error.unwrap_or_else(|| json!({"code": event.code, "message": event.message}))
}
