//! The memory of an attempt from round to round, which is also the content of a checkpoint.
//!
//! Whatever a model says and whenever it is interrupted, the conversation stays well-formed: it
//! begins with a user message, roles alternate, and each tool call has exactly one result in the
//! message right after it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unstuck_core::attempt::{Action, Watch};
use unstuck_core::fault::Fault;
use unstuck_store::Conversation;
use unstuck_world::model::{Message, Part, Role};
use unstuck_world::redact::Redactor;

use super::{compact, prompt};
use crate::clean;

/// A call to carry out, as the model made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Called {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// The memory of an attempt.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    messages: Vec<Message>,
    /// The last user text that is to be sent only once.
    told: Option<String>,
    /// Set when the model has been told that the budget is nearly spent.
    winding_down: bool,
    pub(super) watch: Watch,
    pub(super) actions: Vec<Action>,
}

impl Memory {
    pub(super) fn new(prompt: &str, watch: Watch) -> Self {
        Self {
            messages: vec![Message { role: Role::User, parts: vec![text(prompt)] }],
            told: None,
            winding_down: false,
            watch,
            actions: Vec::new(),
        }
    }

    /// Reads a checkpoint; `None` if it has another format or is empty.
    pub(super) fn read(kept: &Conversation) -> Option<Self> {
        let read: Result<Self, _> = serde_json::from_str(kept.as_str());
        if let Err(error) = &read {
            tracing::warn!(%error, "a conversation cannot be read; a new one begins");
        }
        read.ok().filter(|memory| !memory.messages.is_empty())
    }

    pub(super) fn written(&self) -> Result<Conversation, Box<Fault>> {
        // Serialization cannot fail for these types.
        let written = serde_json::to_string(self).unwrap_or_default();
        Conversation::new(written).map_err(|error| Box::new(error.fault()))
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the length of the conversation in bytes.
    pub(super) fn bytes(&self) -> u64 {
        compact::bytes(&self.messages)
    }

    /// Returns `true` the first time only, to tell the model once that the budget is nearly spent.
    pub(super) fn winds_down(&mut self) -> bool {
        !std::mem::replace(&mut self.winding_down, true)
    }

    /// Appends a turn of the model, or the rest of a paused one, and returns its calls. An empty
    /// turn is not appended.
    pub(super) fn hear(&mut self, parts: Vec<Part>, redactor: &Redactor) -> Vec<Called> {
        let mut calls: Vec<Called> = Vec::new();
        let mut heard = self.unfinished();
        let mut ids = heard.iter().filter_map(call_id).cloned().collect();
        for part in parts {
            match part {
                Part::Text { text: said } if said.trim().is_empty() => {}
                Part::Text { text: said } => heard.push(text(&redactor.text(&said))),
                Part::Call { id, name, input } => {
                    let id = unique(&id, &mut ids);
                    let shown = clean::value(redactor, &input);
                    heard.push(Part::Call { id: id.clone(), name: name.clone(), input: shown });
                    calls.push(Called { id, name, input });
                }
                // A result can only come from a tool, so the model's own is dropped.
                Part::Result { .. } => {}
                // Opaque parts have to stay unchanged; they derive from messages that contain no
                // secrets.
                opaque @ Part::Opaque { .. } => heard.push(opaque),
            }
        }
        let is_something = |part: &Part| part.is_paused() || !matches!(part, Part::Opaque { .. });
        if heard.iter().any(is_something) {
            self.messages.push(Message { role: Role::Assistant, parts: heard });
        }
        calls
    }

    /// Returns whether the last turn is paused, so that the model is asked again with an unchanged
    /// conversation.
    pub(super) fn is_paused(&self) -> bool {
        let last = self.messages.last().filter(|last| last.role == Role::Assistant);
        last.and_then(|last| last.parts.last()).is_some_and(Part::is_paused)
    }

    /// Returns the text of the model's last turn, if it has any.
    pub(super) fn last_words(&self) -> Option<String> {
        let last = self.messages.iter().rfind(|message| message.role == Role::Assistant)?;
        let words = last.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let words: Vec<&str> = words.collect();
        (!words.is_empty()).then(|| words.join("\n"))
    }

    /// Removes a paused turn, and returns its parts so far.
    fn unfinished(&mut self) -> Vec<Part> {
        if !self.is_paused() {
            return Vec::new();
        }
        let mut parts = self.messages.pop().map(|message| message.parts).unwrap_or_default();
        parts.retain(|part| !part.is_paused());
        parts
    }

    /// Adds the result of a call, or replaces it.
    pub(super) fn answer(&mut self, call: &str, output: &str, failed: bool) {
        let result = Part::Result { id: call.to_owned(), output: output.to_owned(), failed };
        let parts = self.ours();
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
    pub(super) fn tell(&mut self, words: &str) {
        self.ours().push(text(words));
    }

    /// Notes that the first prompt contains this text already.
    pub(super) fn knows(&mut self, words: Option<String>) {
        self.told = words;
    }

    /// Appends a text, unless it is the last one appended this way.
    pub(super) fn tell_once(&mut self, words: &str) {
        if !words.is_empty() && self.told.as_deref() != Some(words) {
            self.tell(words);
            self.told = Some(words.to_owned());
        }
    }

    /// Makes an interrupted conversation well-formed: calls without a result get one.
    pub(super) fn repair(&mut self) {
        for call in self.unanswered() {
            self.answer(&call, prompt::NO_RESULT, true);
        }
        let is_theirs = self.messages.last().is_none_or(|last| last.role == Role::Assistant);
        if is_theirs && !self.is_paused() {
            self.tell(prompt::GO_ON);
        }
    }

    pub(super) fn compact(&mut self) {
        compact::compact(&mut self.messages);
    }

    fn unanswered(&self) -> Vec<String> {
        let Some(at) = self.messages.iter().rposition(|message| message.role == Role::Assistant)
        else {
            return Vec::new();
        };
        let answers = self.messages.get(at + 1).map_or(&[][..], |message| &message.parts);
        let calls = self.messages[at].parts.iter().filter_map(call_id);
        calls.filter(|id| !answers.iter().any(|part| is_result_of(part, id))).cloned().collect()
    }

    /// Returns the parts of the user message at the end of the conversation, which is created if
    /// needed.
    fn ours(&mut self) -> &mut Vec<Part> {
        if self.messages.last().is_none_or(|last| last.role == Role::Assistant) {
            self.messages.push(Message { role: Role::User, parts: Vec::new() });
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last].parts
    }
}

fn text(words: &str) -> Part {
    Part::Text { text: words.to_owned() }
}

const fn call_id(part: &Part) -> Option<&String> {
    match part {
        Part::Call { id, .. } => Some(id),
        _ => None,
    }
}

const fn is_result(part: &Part) -> bool {
    matches!(part, Part::Result { .. })
}

fn is_result_of(part: &Part, call: &str) -> bool {
    matches!(part, Part::Result { id, .. } if id == call)
}

/// Returns the id, or a variant of it if the model uses one id for two calls of a turn.
fn unique(id: &str, taken: &mut BTreeSet<String>) -> String {
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
