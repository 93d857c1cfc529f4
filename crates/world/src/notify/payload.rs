//! The formats of a message, for programs and for chats.

use serde::Serialize;
use unstuck_core::engine::{BuildId, QuestionId};
use unstuck_core::fault::{Category, Code};
use unstuck_core::question::QuestionOption;
use unstuck_core::tell::{AnswerLink, Notification, NotificationLevel};
use unstuck_core::time::Time;

/// The JSON that a webhook and a command get. Readers skip fields that they do not know.
#[derive(Debug, Serialize)]
struct NotificationPayload<'a> {
    id: &'a str,
    project: &'a str,
    at: Time,
    level: NotificationLevel,
    build: Option<BuildId>,
    question: Option<QuestionId>,
    category: Option<Category>,
    code: Option<Code>,
    title: &'a str,
    text: &'a str,
    options: &'a [QuestionOption],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    links: &'a [AnswerLink],
}

/// Serializes the message as JSON.
pub(super) fn encode_payload(message: &Notification) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&NotificationPayload {
        id: &message.id,
        project: &message.project,
        at: message.at,
        level: message.level,
        build: message.build,
        question: message.question,
        category: message.category,
        code: message.code,
        title: &message.title,
        text: &message.body,
        options: &message.options,
        links: &message.links,
    })
}

/// Formats the message for a chat, truncated to `chars_max` characters, with its error code at the
/// end for looking it up.
pub(super) fn render_chat(message: &Notification, chars_max: usize) -> String {
    let code = message.code.map_or_else(String::new, |code| format!("\n\n({code})"));
    let text = message.full_text();
    let room = chars_max.saturating_sub(code.chars().count());
    if text.chars().nth(room).is_none() {
        return text + &code;
    }
    let cut: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{cut}…{code}")
}
