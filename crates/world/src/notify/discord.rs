//! A channel that posts to the webhook of a Discord channel.

use serde_json::json;
use unstuck_core::fault::Fault;
use unstuck_core::tell::Notification;

use super::payload::render_chat;
use super::post::PostEndpoint;
use super::settings::DiscordSettings;
use super::undelivered::DeliveryError;

/// Maximum number of characters that Discord accepts.
const CONTENT_CHARS_MAX: usize = 2_000;

#[derive(Debug)]
pub(super) struct DiscordChannel(PostEndpoint);

impl DiscordChannel {
    pub(super) fn new(settings: &DiscordSettings) -> Result<Self, Fault> {
        PostEndpoint::new(&settings.url, "url").map(Self)
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let body = json!({
            "content": render_chat(message, CONTENT_CHARS_MAX),
            // A title must not mention Discord users.
            "allowed_mentions": { "parse": [] },
        });
        self.0.post_json(&message.id, Vec::new(), body.to_string().into_bytes()).await
    }
}
