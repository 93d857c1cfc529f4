//! A channel that posts to the webhook of a Discord channel.

use serde_json::json;
use unstuck_core::fault::Fault;
use unstuck_core::tell::Message;

use super::payload::chat;
use super::post::Post;
use super::settings::DiscordSettings;
use super::undelivered::Undelivered;

/// Maximum number of characters that Discord accepts.
const CONTENT_CHARS_MAX: usize = 2_000;

#[derive(Debug)]
pub(super) struct Discord(Post);

impl Discord {
    pub(super) fn new(settings: &DiscordSettings) -> Result<Self, Fault> {
        Post::new(&settings.url, "url").map(Self)
    }

    pub(super) async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        let body = json!({
            "content": chat(message, CONTENT_CHARS_MAX),
            // A title must not mention Discord users.
            "allowed_mentions": { "parse": [] },
        });
        self.0.json(&message.id, Vec::new(), body.to_string().into_bytes()).await
    }
}
