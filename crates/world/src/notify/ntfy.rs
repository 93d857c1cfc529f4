//! A channel that publishes to an ntfy topic, which phones subscribe to.

use serde_json::json;
use unstuck_core::fault::{Category, Fault};
use unstuck_core::tell::{Notification, NotificationLevel};

use super::post::PostEndpoint;
use super::settings::NtfySettings;
use super::undelivered::DeliveryError;
use crate::provider::Credential;

const BASE_URL: &str = "https://ntfy.sh";
/// Maximum length of a message, in bytes: ntfy turns longer ones into attachments.
const MESSAGE_BYTES_MAX: usize = 4_000;

#[derive(Debug)]
pub(super) struct NtfyChannel {
    post: PostEndpoint,
    topic: Credential,
    token: Option<Credential>,
}

impl NtfyChannel {
    pub(super) fn new(settings: NtfySettings) -> Result<Self, Fault> {
        let base = Credential::new(settings.base_url.as_deref().unwrap_or(BASE_URL));
        let base =
            base.ok_or_else(|| super::post::invalid_setting("base_url", "the address is empty"))?;
        let post = PostEndpoint::new(&base, "base_url")?;
        Ok(Self { post, topic: settings.topic, token: settings.token })
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let words = message.body_with_links();
        let text = &words[..words.floor_char_boundary(MESSAGE_BYTES_MAX)];
        let category = message.category.map(Category::as_str);
        let code = message.code.map(|code| code.to_string());
        let tags: Vec<&str> = category.into_iter().chain(code.as_deref()).collect();
        let body = json!({
            "topic": self.topic.expose(),
            "title": message.title,
            "message": text,
            "tags": tags,
            // A question waits for the operator.
            "priority": if message.level == NotificationLevel::Questions { 4 } else { 3 },
        });
        let token = self.token.as_ref().map(|token| format!("Bearer {}", token.expose()));
        let headers = token.map(|token| ("authorization", token)).into_iter().collect();
        self.post.post_json(&message.id, headers, body.to_string().into_bytes()).await
    }
}
