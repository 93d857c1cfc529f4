//! Channels to chat services: Slack, Discord, a Telegram bot, and ntfy topics, which phones
//! subscribe to.

use serde_json::json;
use unstuck_core::fault::{Category, Fault};
use unstuck_core::tell::{Notification, NotificationLevel};
use unstuck_core::time::Span;

use super::delivery::{DeliveryDelay, DeliveryError, PostEndpoint, invalid_setting};
use super::settings::{DiscordSettings, NtfySettings, SlackSettings, TelegramSettings};
use crate::provider::Credential;

/// Maximum number of characters: Slack truncates longer texts.
const SLACK_CHARS_MAX: usize = 4_000;

#[derive(Debug)]
pub(super) struct SlackChannel(PostEndpoint);

impl SlackChannel {
    pub(super) fn new(settings: &SlackSettings) -> Result<Self, Fault> {
        PostEndpoint::new(&settings.url, "url").map(Self)
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let text = escape_markup(&render_chat(message, SLACK_CHARS_MAX));
        let body = json!({ "text": text, "unfurl_links": false }).to_string();
        self.0.post_json(&message.id, Vec::new(), body.into_bytes()).await
    }
}

/// Escapes the three characters by which Slack recognizes links and mentions, and desktops markup.
pub(super) fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Maximum number of characters that Discord accepts.
const DISCORD_CHARS_MAX: usize = 2_000;

#[derive(Debug)]
pub(super) struct DiscordChannel(PostEndpoint);

impl DiscordChannel {
    pub(super) fn new(settings: &DiscordSettings) -> Result<Self, Fault> {
        PostEndpoint::new(&settings.url, "url").map(Self)
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let body = json!({
            "content": render_chat(message, DISCORD_CHARS_MAX),
            // A title must not mention Discord users.
            "allowed_mentions": { "parse": [] },
        });
        self.0.post_json(&message.id, Vec::new(), body.to_string().into_bytes()).await
    }
}

const TELEGRAM_URL: &str = "https://api.telegram.org";
/// Maximum number of characters that Telegram accepts.
const TELEGRAM_CHARS_MAX: usize = 4_096;

#[derive(Debug)]
pub(super) struct TelegramChannel {
    endpoint: PostEndpoint,
    chat: String,
}

impl TelegramChannel {
    pub(super) fn new(settings: TelegramSettings) -> Result<Self, Fault> {
        let base = settings.base_url.as_deref().unwrap_or(TELEGRAM_URL).trim_end_matches('/');
        let url = format!("{base}/bot{}/sendMessage", settings.token.expose());
        let url =
            Credential::new(&url).ok_or_else(|| invalid_setting("token", "the token is empty"))?;
        Ok(Self { endpoint: PostEndpoint::new(&url, "base_url")?, chat: settings.chat })
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let body = json!({
            "chat_id": self.chat,
            "text": render_chat(message, TELEGRAM_CHARS_MAX),
            "link_preview_options": { "is_disabled": true },
        });
        let sent = self
            .endpoint
            .try_post_json(&message.id, Vec::new(), body.to_string().into_bytes())
            .await?;
        sent.map_err(|refused| {
            // Telegram states the wait only in the body.
            let seconds = refused.parse_body()["parameters"]["retry_after"].as_u64();
            let wait = seconds.map(Span::from_secs).map(DeliveryDelay::For);
            refused.to_delivery_error(wait.filter(|_| refused.status() == 429))
        })
    }
}

const NTFY_URL: &str = "https://ntfy.sh";
/// Maximum length of a message, in bytes: ntfy turns longer ones into attachments.
const NTFY_BYTES_MAX: usize = 4_000;

#[derive(Debug)]
pub(super) struct NtfyChannel {
    endpoint: PostEndpoint,
    topic: Credential,
    token: Option<Credential>,
}

impl NtfyChannel {
    pub(super) fn new(settings: NtfySettings) -> Result<Self, Fault> {
        let base = Credential::new(settings.base_url.as_deref().unwrap_or(NTFY_URL));
        let base = base.ok_or_else(|| invalid_setting("base_url", "the address is empty"))?;
        let endpoint = PostEndpoint::new(&base, "base_url")?;
        Ok(Self { endpoint, topic: settings.topic, token: settings.token })
    }

    pub(super) async fn deliver(&self, message: &Notification) -> Result<(), DeliveryError> {
        let words = message.body_with_links();
        let text = &words[..words.floor_char_boundary(NTFY_BYTES_MAX)];
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
        self.endpoint.post_json(&message.id, headers, body.to_string().into_bytes()).await
    }
}

/// Formats the message for a chat, truncated to `chars_max` characters, with its error code at the
/// end for looking it up.
pub(super) fn render_chat(message: &Notification, chars_max: usize) -> String {
    let code = message.code.map_or_else(String::new, |code| format!("\n\n({code})"));
    let text = message.full_text();
    let chars_left = chars_max.saturating_sub(code.chars().count());
    if text.chars().nth(chars_left).is_none() {
        return text + &code;
    }
    let cut: String = text.chars().take(chars_left.saturating_sub(1)).collect();
    format!("{cut}…{code}")
}
