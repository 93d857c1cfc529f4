//! The memory of an attempt from round to round, which is also the content of a checkpoint.
//!
//! Whatever a model says and whenever it is interrupted, the conversation stays well-formed: it
//! begins with a user message, roles alternate, and each tool call has exactly one result in the
//! message right after it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unstuck_core::attempt::{AgentAction, LoopDetector};
use unstuck_core::fault::Fault;
use unstuck_store::StoredConversation;
use unstuck_world::model::{MessagePart, MessageRole, ModelMessage};
use unstuck_world::redact::Redactor;

use super::{compact, prompt};
use crate::effects::redact_value;

/// A call to carry out, as the model made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// The memory of an attempt.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AttemptMemory {
    messages: Vec<ModelMessage>,
    /// The last user text that is to be sent only once.
    told: Option<String>,
    /// Set when the model has been told that the budget is nearly spent.
    winding_down: bool,
    pub(super) watch: LoopDetector,
    pub(super) actions: Vec<AgentAction>,
}

impl AttemptMemory {
    pub(super) fn new(prompt: &str, watch: LoopDetector) -> Self {
        Self {
            messages: vec![ModelMessage {
                role: MessageRole::User,
                parts: vec![text_part(prompt)],
            }],
            told: None,
            winding_down: false,
            watch,
            actions: Vec::new(),
        }
    }

    /// Reads a checkpoint; `None` if it has another format or is empty.
    pub(super) fn from_checkpoint(kept: &StoredConversation) -> Option<Self> {
        let read: Result<Self, _> = serde_json::from_str(kept.as_str());
        if let Err(error) = &read {
            tracing::warn!(%error, "a conversation cannot be read; a new one begins");
        }
        read.ok().filter(|memory| !memory.messages.is_empty())
    }

    pub(super) fn to_checkpoint(&self) -> Result<StoredConversation, Box<Fault>> {
        // Serialization cannot fail for these types.
        let written = serde_json::to_string(self).unwrap_or_default();
        StoredConversation::new(written).map_err(|error| Box::new(error.to_fault()))
    }

    pub(super) fn messages(&self) -> &[ModelMessage] {
        &self.messages
    }

    /// Returns the length of the conversation in bytes.
    pub(super) fn count_bytes(&self) -> u64 {
        compact::count_bytes(&self.messages)
    }

    /// Returns `true` the first time only, to tell the model once that the budget is nearly spent.
    pub(super) fn begin_wind_down(&mut self) -> bool {
        !std::mem::replace(&mut self.winding_down, true)
    }

    /// Appends a turn of the model, or the rest of a paused one, and returns its calls. An empty
    /// turn is not appended.
    pub(super) fn append_turn(
        &mut self,
        parts: Vec<MessagePart>,
        redactor: &Redactor,
    ) -> Vec<ModelToolCall> {
        let mut calls: Vec<ModelToolCall> = Vec::new();
        let mut heard = self.take_paused_turn();
        let mut ids = heard.iter().filter_map(call_id).cloned().collect();
        for part in parts {
            match part {
                MessagePart::Text { text: said } if said.trim().is_empty() => {}
                MessagePart::Text { text: said } => {
                    heard.push(text_part(&redactor.redact_text(&said)));
                }
                MessagePart::Call { id, name, input } => {
                    let id = make_unique_id(&id, &mut ids);
                    let shown = redact_value(redactor, &input);
                    heard.push(MessagePart::Call {
                        id: id.clone(),
                        name: name.clone(),
                        input: shown,
                    });
                    calls.push(ModelToolCall { id, name, input });
                }
                // A result can only come from a tool, so the model's own is dropped.
                MessagePart::Result { .. } => {}
                // Opaque parts have to stay unchanged; they derive from messages that contain no
                // secrets.
                opaque @ MessagePart::Opaque { .. } => heard.push(opaque),
            }
        }
        let is_something =
            |part: &MessagePart| part.is_paused() || !matches!(part, MessagePart::Opaque { .. });
        if heard.iter().any(is_something) {
            self.messages.push(ModelMessage { role: MessageRole::Assistant, parts: heard });
        }
        calls
    }

    /// Returns whether the last turn is paused, so that the model is asked again with an unchanged
    /// conversation.
    pub(super) fn is_paused(&self) -> bool {
        let last = self.messages.last().filter(|last| last.role == MessageRole::Assistant);
        last.and_then(|last| last.parts.last()).is_some_and(MessagePart::is_paused)
    }

    /// Returns the text of the model's last turn, if it has any.
    pub(super) fn last_turn_text(&self) -> Option<String> {
        let last = self.messages.iter().rfind(|message| message.role == MessageRole::Assistant)?;
        let words = last.parts.iter().filter_map(|part| match part {
            MessagePart::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let words: Vec<&str> = words.collect();
        (!words.is_empty()).then(|| words.join("\n"))
    }

    /// Removes a paused turn, and returns its parts so far.
    fn take_paused_turn(&mut self) -> Vec<MessagePart> {
        if !self.is_paused() {
            return Vec::new();
        }
        let mut parts = self.messages.pop().map(|message| message.parts).unwrap_or_default();
        parts.retain(|part| !part.is_paused());
        parts
    }

    /// Adds the result of a call, or replaces it.
    pub(super) fn set_call_result(&mut self, call: &str, output: &str, failed: bool) {
        let result = MessagePart::Result { id: call.to_owned(), output: output.to_owned(), failed };
        let parts = self.user_parts_mut();
        let known = parts.iter().position(|part| is_result_of(part, call));
        // Providers expect results before text.
        let place = known.unwrap_or_else(|| parts.iter().take_while(|p| is_result(p)).count());
        if known.is_some() {
            parts[place] = result;
        } else {
            parts.insert(place, result);
        }
    }

    /// Appends a text to the user message.
    pub(super) fn append_user_text(&mut self, words: &str) {
        self.user_parts_mut().push(text_part(words));
    }

    /// Notes that the first prompt contains this text already.
    pub(super) fn note_told_text(&mut self, words: Option<String>) {
        self.told = words;
    }

    /// Appends a text, unless it is the last one appended this way.
    pub(super) fn append_user_text_once(&mut self, words: &str) {
        if !words.is_empty() && self.told.as_deref() != Some(words) {
            self.append_user_text(words);
            self.told = Some(words.to_owned());
        }
    }

    /// Makes an interrupted conversation well-formed: calls without a result get one.
    pub(super) fn repair_conversation(&mut self) {
        for call in self.unanswered_calls() {
            self.set_call_result(&call, prompt::NO_RESULT, true);
        }
        let is_theirs = self.messages.last().is_none_or(|last| last.role == MessageRole::Assistant);
        if is_theirs && !self.is_paused() {
            self.append_user_text(prompt::GO_ON);
        }
    }

    pub(super) fn compact_conversation(&mut self) {
        compact::compact_messages(&mut self.messages);
    }

    fn unanswered_calls(&self) -> Vec<String> {
        let Some(at) =
            self.messages.iter().rposition(|message| message.role == MessageRole::Assistant)
        else {
            return Vec::new();
        };
        let answers = self.messages.get(at + 1).map_or(&[][..], |message| &message.parts);
        let calls = self.messages[at].parts.iter().filter_map(call_id);
        calls.filter(|id| !answers.iter().any(|part| is_result_of(part, id))).cloned().collect()
    }

    /// Returns the parts of the user message at the end of the conversation, which is created if
    /// needed.
    fn user_parts_mut(&mut self) -> &mut Vec<MessagePart> {
        if self.messages.last().is_none_or(|last| last.role == MessageRole::Assistant) {
            self.messages.push(ModelMessage { role: MessageRole::User, parts: Vec::new() });
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last].parts
    }
}

fn text_part(words: &str) -> MessagePart {
    MessagePart::Text { text: words.to_owned() }
}

const fn call_id(part: &MessagePart) -> Option<&String> {
    match part {
        MessagePart::Call { id, .. } => Some(id),
        _ => None,
    }
}

const fn is_result(part: &MessagePart) -> bool {
    matches!(part, MessagePart::Result { .. })
}

fn is_result_of(part: &MessagePart, call: &str) -> bool {
    matches!(part, MessagePart::Result { id, .. } if id == call)
}

/// Returns the id, or a variant of it if the model uses one id for two calls of a turn.
fn make_unique_id(id: &str, taken: &mut BTreeSet<String>) -> String {
    let mut wanted = id.to_owned();
    let mut number = 2;
    while wanted.is_empty() || !taken.insert(wanted.clone()) {
        wanted = format!("{id}-{number}");
        number += 1;
    }
    wanted
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
