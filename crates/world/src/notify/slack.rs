//! A channel that posts to an incoming webhook of Slack.

use serde_json::json;
use unstuck_core::fault::Fault;
use unstuck_core::tell::Message;

use super::payload::chat;
use super::post::Post;
use super::settings::SlackSettings;
use super::undelivered::Undelivered;

/// Maximum number of characters: Slack truncates longer texts.
const TEXT_CHARS_MAX: usize = 4_000;

#[derive(Debug)]
pub(super) struct Slack(Post);

impl Slack {
    pub(super) fn new(settings: &SlackSettings) -> Result<Self, Fault> {
        Post::new(&settings.url, "url").map(Self)
    }

    pub(super) async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        let text = escaped(&chat(message, TEXT_CHARS_MAX));
        let body = json!({ "text": text, "unfurl_links": false }).to_string();
        self.0.json(&message.id, Vec::new(), body.into_bytes()).await
    }
}

/// Escapes the three characters by which Slack recognizes links and mentions.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
