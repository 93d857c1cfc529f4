//! Compaction of a conversation, so that it fits the context again.
//!
//! The task and the last turns are kept whole. The middle becomes a list of calls and their
//! outcome, made without a model. Calls and their results stay together.

use unstuck_world::model::{MessagePart, MessageRole, ModelMessage};
use unstuck_world::tool::shorten_text;

use super::prompt::SHORTENED;

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
