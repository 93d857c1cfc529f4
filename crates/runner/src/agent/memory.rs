//! The memory of an attempt from round to round, which is also the content of a checkpoint, and its
//! compaction.
//!
//! Whatever a model says and whenever it is interrupted, the conversation stays well-formed: it
//! begins with a user message, roles alternate, and each tool call has exactly one result in the
//! message right after it.
//!
//! Compaction makes a conversation fit the context again. The task and the last turns are kept
//! whole. The middle becomes a list of calls and their outcome, made without a model.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unstuck_core::attempt::{AgentAction, LoopDetector};
use unstuck_core::fault::Fault;
use unstuck_store::StoredConversation;
use unstuck_world::model::{MessagePart, MessageRole, ModelMessage};
use unstuck_world::redact::Redactor;
use unstuck_world::tool::shorten_text;

use super::prompt::{self, SHORTENED, TASK_DONE};
use super::reporter::internal_fault;
use crate::effects::redact_value;

/// Number of messages at the end that are kept whole.
const KEPT_MESSAGES: usize = 6;
/// Maximum length in bytes of the list that replaces the middle.
const LIST_BYTES_MAX: usize = 8 * 1_024;
/// Maximum length in bytes of one call's input in the list.
const CALL_BYTES_MAX: usize = 160;
/// Maximum length in bytes of a kept result, if the kept messages alone are still long.
const RESULT_BYTES_MAX: usize = 2 * 1_024;
/// Maximum size after compaction without shortening results, in percent of the size before.
const LEFT_PERCENT_MAX: u64 = 60;

/// A call to carry out, as the model made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

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
        let written = serde_json::to_string(self).map_err(|error| internal_fault(&error))?;
        StoredConversation::new(written).map_err(|error| Box::new(error.to_fault()))
    }

    pub(super) fn messages(&self) -> &[ModelMessage] {
        &self.messages
    }

    /// Returns the length of the conversation in bytes.
    pub(super) fn count_bytes(&self) -> u64 {
        count_bytes(&self.messages)
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
        for (call, is_end) in self.unanswered_calls() {
            let said = if is_end { prompt::DONE_TAKEN } else { prompt::NO_RESULT };
            self.set_call_result(&call, said, !is_end);
        }
        let is_theirs = self.messages.last().is_none_or(|last| last.role == MessageRole::Assistant);
        if is_theirs && !self.is_paused() {
            self.append_user_text(prompt::GO_ON);
        }
    }

    pub(super) fn compact_conversation(&mut self) {
        compact_messages(&mut self.messages);
    }

    /// Returns the calls without a result, and whether each of them only says that the work is done.
    fn unanswered_calls(&self) -> Vec<(String, bool)> {
        let Some(at) =
            self.messages.iter().rposition(|message| message.role == MessageRole::Assistant)
        else {
            return Vec::new();
        };
        let answers = self.messages.get(at + 1).map_or(&[][..], |message| &message.parts);
        let calls = self.messages[at].parts.iter().filter_map(|part| match part {
            MessagePart::Call { id, name, .. } => Some((id, name == TASK_DONE)),
            _ => None,
        });
        let open = calls.filter(|(id, _)| !answers.iter().any(|part| is_result_of(part, id)));
        open.map(|(id, is_end)| (id.clone(), is_end)).collect()
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

/// Returns the length of a conversation in bytes.
pub(super) fn count_bytes(messages: &[ModelMessage]) -> u64 {
    let of = |part: &MessagePart| match part {
        MessagePart::Text { text } => text.len(),
        MessagePart::Call { id, name, input } => id.len() + name.len() + input.to_string().len(),
        MessagePart::Result { id, output, .. } => id.len() + output.len(),
        MessagePart::Opaque { value } => value.to_string().len(),
    };
    messages.iter().flat_map(|message| &message.parts).map(of).sum::<usize>() as u64
}

/// Compacts a well-formed conversation; it stays well-formed.
pub(super) fn compact_messages(messages: &mut Vec<ModelMessage>) {
    let before = count_bytes(messages);
    let from = find_kept_start(messages);
    let middle: Vec<ModelMessage> = messages.drain(1.min(from)..from).collect();
    if let (Some(first), false) = (messages.first_mut(), middle.is_empty()) {
        list_dropped_calls(first, &middle);
    }
    if count_bytes(messages) > before / 100 * LEFT_PERCENT_MAX {
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            if let MessagePart::Result { output, .. } = part {
                *output = shorten_text(output, RESULT_BYTES_MAX);
            }
        }
    }
}

/// Returns the index of the first message that is kept whole: one of the model's, because a user
/// message precedes it.
fn find_kept_start(messages: &[ModelMessage]) -> usize {
    let wanted = messages.len().saturating_sub(KEPT_MESSAGES).max(1);
    let kept =
        messages.iter().skip(wanted).position(|message| message.role == MessageRole::Assistant);
    // Without a later message of the model only the task is left.
    kept.map_or(wanted.min(messages.len()), |at| wanted + at)
}

/// Appends the list of calls in `middle` to the first message, after the entries of an earlier
/// list.
fn list_dropped_calls(first: &mut ModelMessage, middle: &[ModelMessage]) {
    let is_list = |part: &MessagePart| matches!(part, MessagePart::Text { text } if text.starts_with(SHORTENED));
    let earlier = first.parts.iter().position(is_list).map(|at| first.parts.remove(at));
    let mut lines: Vec<String> = match earlier {
        Some(MessagePart::Text { text }) => text.lines().skip(1).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let parts: Vec<&MessagePart> = middle.iter().flat_map(|message| &message.parts).collect();
    for part in &parts {
        if let MessagePart::Call { id, name, input } = part {
            let failed = parts.iter().any(
                |part| matches!(part, MessagePart::Result { id: of, failed: true, .. } if of == id),
            );
            lines.push(render_call_line(name, &input.to_string(), failed));
        }
    }
    let text = format!("{SHORTENED}\n{}", shorten_text(&lines.join("\n"), LIST_BYTES_MAX));
    first.parts.push(MessagePart::Text { text });
}

/// Returns an entry of the list, such as `- edit_file {"path":"a", …}: failed`.
fn render_call_line(name: &str, input: &str, failed: bool) -> String {
    let shown = &input[..input.floor_char_boundary(CALL_BYTES_MAX)];
    let more = if shown.len() < input.len() { "…" } else { "" };
    let end = if failed { ": failed" } else { "" };
    format!("- {name} {shown}{more}{end}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use unstuck_core::attempt::StuckLimits;

    use super::*;

    fn memory() -> AttemptMemory {
        AttemptMemory::new("the task", LoopDetector::new(StuckLimits::default(), "/w"))
    }

    /// Checks that the conversation begins with a user message, roles alternate, no message is empty,
    /// and each call has exactly one result, which stands first in the message right after it. Without
    /// `answered` the last turn may lack its results.
    fn check(messages: &[ModelMessage], answered: bool) -> Result<(), String> {
        for (at, message) in messages.iter().enumerate() {
            let role = if at % 2 == 0 { MessageRole::User } else { MessageRole::Assistant };
            if message.role != role || message.parts.is_empty() {
                return Err(format!("message {at}: {message:?}"));
            }
            let calls: Vec<&String> = calls(message);
            let after = messages.get(at + 1);
            if role == MessageRole::Assistant && (answered || after.is_some()) {
                let results = after.map_or(Vec::new(), results);
                if calls.iter().collect::<BTreeSet<_>>().len() != calls.len()
                    || sorted(&calls) != sorted(&results)
                {
                    return Err(format!("message {at}: calls {calls:?}, results {results:?}"));
                }
            }
            if at == 0 && !results(message).is_empty() {
                return Err("a result of nothing".to_owned());
            }
            let late = message.parts.iter().skip_while(|part| is_result(part)).any(is_result);
            if late {
                return Err(format!("message {at}: a result after words"));
            }
        }
        Ok(())
    }

    fn sorted<'a>(ids: &[&'a String]) -> Vec<&'a String> {
        let mut ids = ids.to_vec();
        ids.sort();
        ids
    }

    fn calls(message: &ModelMessage) -> Vec<&String> {
        let ids = message.parts.iter().map(|part| match part {
            MessagePart::Call { id, .. } => Some(id),
            _ => None,
        });
        ids.flatten().collect()
    }

    fn results(message: &ModelMessage) -> Vec<&String> {
        let ids = message.parts.iter().map(|part| match part {
            MessagePart::Result { id, .. } => Some(id),
            _ => None,
        });
        ids.flatten().collect()
    }

    fn part() -> impl Strategy<Value = MessagePart> {
        let id = prop::sample::select(vec!["a", "b", "c", ""]);
        prop_oneof![
            "[ a-z]{0,4}".prop_map(|text| MessagePart::Text { text }),
            (id.clone(), "[a-z]{1,4}").prop_map(|(id, name)| MessagePart::Call {
                id: id.to_owned(),
                name,
                input: json!({"path": "x"}),
            }),
            id.prop_map(|id| MessagePart::Result {
                id: id.to_owned(),
                output: String::new(),
                failed: false
            }),
            Just(MessagePart::Opaque { value: json!({"signed": "x"}) }),
        ]
    }

    /// The events of a round after the model's turn.
    #[derive(Clone, Copy, Debug)]
    enum Then {
        Answers,
        AnswersTwice,
        /// The process is killed after so many answers, and another one resumes.
        Dies(usize),
        Compacts,
    }

    fn then() -> impl Strategy<Value = Then> {
        prop_oneof![
            4 => Just(Then::Answers),
            1 => Just(Then::AnswersTwice),
            2 => (0_usize..3).prop_map(Then::Dies),
            1 => Just(Then::Compacts),
        ]
    }

    proptest! {
        #[test]
        fn any_sequence_of_turns_leaves_it_well_formed(
            rounds in prop::collection::vec((prop::collection::vec(part(), 0..5), then()), 0..12),
        ) {
            let mut memory = memory();
            let redactor = Redactor::default();
            for (parts, then) in rounds {
                let calls = memory.append_turn(parts, &redactor);
                prop_assert_eq!(check(memory.messages(), calls.is_empty()), Ok(()));
                let answers = if let Then::Dies(after) = then { after } else { usize::MAX };
                for call in calls.iter().take(answers) {
                    memory.set_call_result(&call.id, "first", false);
                    if matches!(then, Then::AnswersTwice) {
                        memory.append_user_text("a word");
                        memory.set_call_result(&call.id, "second", true);
                    }
                }
                if let Then::Dies(_) = then {
                    memory = AttemptMemory::from_checkpoint(&memory.to_checkpoint().unwrap()).unwrap();
                    memory.repair_conversation();
                }
                memory.append_user_text("go on");
                if let Then::Compacts = then {
                    memory.compact_conversation();
                }
                prop_assert_eq!(check(memory.messages(), true), Ok(()), "{:?}", memory.messages());
                prop_assert_eq!(memory.messages().last().unwrap().role, MessageRole::User);
            }
        }
    }

    #[test]
    fn an_interrupted_call_is_answered_with_a_warning() {
        let mut memory = memory();
        let call = |id: &str| MessagePart::Call {
            id: id.into(),
            name: "run_command".into(),
            input: json!({}),
        };
        memory.append_turn(vec![call("a"), call("b")], &Redactor::default());
        memory.set_call_result("a", "fine", false);
        memory.repair_conversation();
        memory.append_turn(
            vec![MessagePart::Call { id: "c".into(), name: TASK_DONE.into(), input: json!({}) }],
            &Redactor::default(),
        );
        memory.repair_conversation();
        let last = memory.messages().last().unwrap();
        let taken = MessagePart::Result {
            id: "c".into(),
            output: prompt::DONE_TAKEN.into(),
            failed: false,
        };
        assert_eq!(last.parts[..], [taken]);
        let answers = &memory.messages()[memory.messages().len() - 3].parts;
        let result = |id: &str, output: &str, failed| MessagePart::Result {
            id: id.into(),
            output: output.into(),
            failed,
        };
        assert_eq!(answers[..], [result("a", "fine", false), result("b", prompt::NO_RESULT, true)]);
        let before = memory.messages().to_vec();
        memory.repair_conversation();
        assert_eq!(memory.messages(), before, "once is enough");
    }

    #[test]
    fn a_turn_that_is_not_finished_goes_on_as_one() {
        let mut memory = memory();
        let search = MessagePart::Opaque { value: json!({"type": "server_tool_use"}) };
        let said = |text: &str| MessagePart::Text { text: text.into() };
        let calls = memory
            .append_turn(vec![search.clone(), MessagePart::pause_mark()], &Redactor::default());
        assert!(calls.is_empty() && memory.is_paused());
        let before = memory.messages().to_vec();
        memory = AttemptMemory::from_checkpoint(&memory.to_checkpoint().unwrap()).unwrap();
        memory.repair_conversation();
        assert_eq!(memory.messages(), before, "nothing is said in between, not even after a crash");
        memory.append_turn(vec![said("found")], &Redactor::default());
        assert_eq!(memory.messages().len(), 2);
        assert_eq!(memory.messages()[1].parts, [search, said("found")]);
        assert!(!memory.is_paused());
    }

    // TX16
    #[test]
    fn what_is_kept_of_a_turn_holds_no_secret_and_what_is_done_does() {
        let redactor = Redactor::new(["hunter2-hunter2"]);
        let mut memory = memory();
        let input = json!({"command": "login hunter2-hunter2"});
        let said = MessagePart::Text { text: "I use hunter2-hunter2".to_owned() };
        let calls = memory.append_turn(
            vec![
                said,
                MessagePart::Call {
                    id: "a".into(),
                    name: "run_command".into(),
                    input: input.clone(),
                },
            ],
            &redactor,
        );
        assert_eq!(calls[0].input, input);
        assert!(!memory.to_checkpoint().unwrap().as_str().contains("hunter2"));
    }

    #[test]
    fn a_long_conversation_becomes_short_and_keeps_its_task_and_its_end() {
        let mut memory = memory();
        for n in 0..40 {
            let call = MessagePart::Call {
                id: format!("call{n}"),
                name: "read_file".into(),
                input: json!({"path": format!("src/{n}.rs")}),
            };
            memory.append_turn(vec![call], &Redactor::default());
            memory.set_call_result(&format!("call{n}"), &"x".repeat(3_000), n == 7);
        }
        let before = memory.count_bytes();
        memory.compact_conversation();
        assert!(memory.count_bytes() < before / 3, "{} of {before}", memory.count_bytes());
        let first = format!("{:?}", memory.messages()[0]);
        assert!(first.contains("the task") && first.contains("src/3.rs"), "{first}");
        assert!(first.contains(r#"src/7.rs\"}: failed"#), "{first}");
        assert!(
            format!("{:?}", memory.messages()[1]).contains("src/37.rs"),
            "the last turns are whole"
        );
        memory.compact_conversation();
        assert!(format!("{:?}", memory.messages()[0]).contains("src/3.rs"), "the list is kept");
        check(memory.messages(), true).unwrap();
    }

    #[test]
    fn one_huge_result_is_shortened_where_there_is_no_middle() {
        let mut memory = memory();
        let call = MessagePart::Call { id: "a".into(), name: "read_file".into(), input: json!({}) };
        memory.append_turn(vec![call], &Redactor::default());
        memory.set_call_result("a", &"x".repeat(500_000), false);
        memory.compact_conversation();
        assert!(memory.count_bytes() < 10_000, "{}", memory.count_bytes());
        check(memory.messages(), true).unwrap();
    }
}
