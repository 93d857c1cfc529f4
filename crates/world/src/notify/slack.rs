//! A channel that posts to an incoming webhook of Slack.

use serde_json::json;
use unstuck_core::fault::Fault;
use unstuck_core::tell::Notification;

use super::payload::render_chat;
use super::post::PostEndpoint;
use super::settings::SlackSettings;
use super::undelivered::DeliveryError;

/// Maximum number of characters: Slack truncates longer texts.
const TEXT_CHARS_MAX: usize = 4_000;

#[derive(Debug)]
pub(super) struct SlackChannel(PostEndpoint);

impl SlackChannel {
    pub(super) fn new(settings: &SlackSettings) -> Result<Self, Fault> {
        PostEndpoint::new(&settings.url, "url").map(Self)
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let text = escape_markup(&render_chat(message, TEXT_CHARS_MAX));
        let body = json!({ "text": text, "unfurl_links": false }).to_string();
        self.0.post_json(&message.id, Vec::new(), body.into_bytes()).await
    }
}

/// Escapes the three characters by which Slack recognizes links and mentions.
fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
