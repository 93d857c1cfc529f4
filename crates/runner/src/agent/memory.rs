//! What an attempt remembers from round to round, and what a checkpoint holds of it.
//!
//! Whatever a model says and whatever is interrupted, the conversation stays well-formed: it begins
//! with us, sides alternate, and every call of a tool has exactly one result right after it.

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

/// A call that waits to be carried out, as the model made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Called {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// What an attempt remembers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    messages: Vec<Message>,
    /// The last text of ours that is told once and not again.
    told: Option<String>,
    /// The model knows that the budget is nearly spent.
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

    /// What a checkpoint holds; none when it was written by somebody who wrote it otherwise.
    pub(super) fn read(kept: &Conversation) -> Option<Self> {
        let read: Result<Self, _> = serde_json::from_str(kept.as_str());
        if let Err(error) = &read {
            tracing::warn!(%error, "a conversation cannot be read; a new one begins");
        }
        read.ok().filter(|memory| !memory.messages.is_empty())
    }

    pub(super) fn written(&self) -> Result<Conversation, Box<Fault>> {
        // Nothing in it can fail to be written.
        let written = serde_json::to_string(self).unwrap_or_default();
        Conversation::new(written).map_err(|error| Box::new(error.fault()))
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// How long the conversation is.
    pub(super) fn bytes(&self) -> u64 {
        compact::bytes(&self.messages)
    }

    /// Whether the model has not been told yet that the end is near; from now on it has.
    pub(super) fn winds_down(&mut self) -> bool {
        !std::mem::replace(&mut self.winding_down, true)
    }

    /// Takes in a turn of the model, or the rest of one that was not finished; what it wants done.
    /// A turn with nothing in it leaves no trace.
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
                // A model that plays our part is not listened to.
                Part::Result { .. } => {}
                // Made from what it has read, which holds no secrets; it has to stay as it is.
                opaque @ Part::Opaque { .. } => heard.push(opaque),
            }
        }
        let is_something = |part: &Part| part.is_paused() || !matches!(part, Part::Opaque { .. });
        if heard.iter().any(is_something) {
            self.messages.push(Message { role: Role::Assistant, parts: heard });
        }
        calls
    }

    /// Whether the last turn is not finished, so that the model is asked again as things are.
    pub(super) fn is_paused(&self) -> bool {
        let last = self.messages.last().filter(|last| last.role == Role::Assistant);
        last.and_then(|last| last.parts.last()).is_some_and(Part::is_paused)
    }

    /// The text of the model's last turn, where it has one.
    pub(super) fn last_words(&self) -> Option<String> {
        let last = self.messages.iter().rfind(|message| message.role == Role::Assistant)?;
        let words = last.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let words: Vec<&str> = words.collect();
        (!words.is_empty()).then(|| words.join("\n"))
    }

    /// Takes out what a turn that is not finished has said so far.
    fn unfinished(&mut self) -> Vec<Part> {
        if !self.is_paused() {
            return Vec::new();
        }
        let mut parts = self.messages.pop().map(|message| message.parts).unwrap_or_default();
        parts.retain(|part| !part.is_paused());
        parts
    }

    /// Answers a call, or answers it again.
    pub(super) fn answer(&mut self, call: &str, output: &str, failed: bool) {
        let result = Part::Result { id: call.to_owned(), output: output.to_owned(), failed };
        let parts = self.ours();
        let known = parts.iter().position(|part| is_result_of(part, call));
        // Results come before words: that is how they are read.
        let place = known.unwrap_or_else(|| parts.iter().take_while(|p| is_result(p)).count());
        if known.is_some() {
            parts[place] = result;
        } else {
            parts.insert(place, result);
        }
    }

    /// Says something to the model.
    pub(super) fn tell(&mut self, words: &str) {
        self.ours().push(text(words));
    }

    /// The first prompt holds this text of ours already.
    pub(super) fn knows(&mut self, words: Option<String>) {
        self.told = words;
    }

    /// Says something that was not the last thing said this way.
    pub(super) fn tell_once(&mut self, words: &str) {
        if !words.is_empty() && self.told.as_deref() != Some(words) {
            self.tell(words);
            self.told = Some(words.to_owned());
        }
    }

    /// Makes a conversation one that can go on: what was not answered is.
    pub(super) fn repair(&mut self) {
        for call in self.unanswered() {
            self.answer(&call, prompt::NO_RESULT, true);
        }
        let is_theirs = self.messages.last().is_none_or(|last| last.role == Role::Assistant);
        if is_theirs && !self.is_paused() {
            self.tell(prompt::GO_ON);
        }
    }

    /// Makes the conversation shorter.
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

    /// The parts of our message at the end of the conversation.
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

/// The id, or one like it where a model names two calls of a turn the same.
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
