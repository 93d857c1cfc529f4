//! A channel that sends messages as a Telegram bot.

use serde_json::json;
use unstuck_core::fault::Fault;
use unstuck_core::tell::Notification;
use unstuck_core::time::Span;

use super::payload::render_chat;
use super::post::{PostEndpoint, invalid_setting};
use super::settings::TelegramSettings;
use super::undelivered::{DeliveryDelay, DeliveryError};
use crate::provider::Credential;

const BASE_URL: &str = "https://api.telegram.org";
/// Maximum number of characters that Telegram accepts.
const TEXT_CHARS_MAX: usize = 4_096;

#[derive(Debug)]
pub(super) struct TelegramChannel {
    post: PostEndpoint,
    chat: String,
}

impl TelegramChannel {
    pub(super) fn new(settings: TelegramSettings) -> Result<Self, Fault> {
        let base = settings.base_url.as_deref().unwrap_or(BASE_URL).trim_end_matches('/');
        let url = format!("{base}/bot{}/sendMessage", settings.token.expose());
        let url =
            Credential::new(&url).ok_or_else(|| invalid_setting("token", "the token is empty"))?;
        Ok(Self { post: PostEndpoint::new(&url, "base_url")?, chat: settings.chat })
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let body = json!({
            "chat_id": self.chat,
            "text": render_chat(message, TEXT_CHARS_MAX),
            "link_preview_options": { "is_disabled": true },
        });
        let sent =
            self.post.try_post_json(&message.id, Vec::new(), body.to_string().into_bytes()).await?;
        sent.map_err(|refused| {
            // Telegram states the wait only in the body.
            let seconds = refused.parse_body()["parameters"]["retry_after"].as_u64();
            let wait = seconds.map(Span::from_secs).map(DeliveryDelay::For);
            refused.to_delivery_error(wait.filter(|_| refused.status() == 429))
        })
    }
}
