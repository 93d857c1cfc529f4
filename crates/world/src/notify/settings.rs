//! The settings of a channel: `[notify.NAME]` of `unstuck.toml`.

use serde::Deserialize;
use unstuck_core::tell::NotificationLevel;
use unstuck_core::time::Span;

use super::quiet::QuietHours;
use crate::provider::Credential;

/// The settings of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ChannelSettings {
    /// The level of messages that the channel takes.
    #[serde(default)]
    pub level: NotificationLevel,
    /// Quiet hours: messages of that time are delivered afterwards.
    #[serde(default)]
    pub quiet_hours: Option<QuietHours>,
    /// The transport. Its fields refuse unknown keys.
    #[serde(flatten)]
    pub way: ChannelKind,
}

/// The transport of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChannelKind {
    /// A desktop notification.
    Desktop(DesktopSettings),
    /// A signed HTTP request.
    Webhook(WebhookSettings),
    /// A Slack webhook.
    Slack(SlackSettings),
    /// A program of the operator's.
    Command(CommandSettings),
    /// A Discord webhook.
    Discord(DiscordSettings),
    /// A Telegram bot.
    Telegram(TelegramSettings),
    /// An ntfy topic.
    Ntfy(NtfySettings),
    /// An email.
    Email(EmailSettings),
}

/// A notification on the screen of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesktopSettings {}

/// An HTTP request to a URL of the operator's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// The URL that messages are posted to.
    pub url: Credential,
    /// The signing key; without one, requests are not signed.
    #[serde(default)]
    pub secret: Option<Credential>,
}

/// An incoming webhook of Slack.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackSettings {
    /// The webhook URL from Slack; its holder can post.
    pub url: Credential,
}

/// A program that gets the message as JSON on its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSettings {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// Timeout of the program.
    #[serde(default = "command_timeout")]
    pub timeout_ms: Span,
}

/// A webhook of a Discord channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscordSettings {
    /// The webhook URL from Discord; its holder can post.
    pub url: Credential,
}

/// A Telegram bot.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelegramSettings {
    /// The bot's token.
    pub token: Credential,
    /// The chat that the bot writes to: a number, or `@channel`.
    pub chat: String,
    /// The base URL of the service, if it is not Telegram's own.
    #[serde(default)]
    pub base_url: Option<String>,
}

/// An ntfy topic.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NtfySettings {
    /// The topic; knowing it is enough to read the messages.
    pub topic: Credential,
    /// The access token, if the topic is protected.
    #[serde(default)]
    pub token: Option<Credential>,
    /// The base URL of the service, if it is not ntfy.sh.
    #[serde(default)]
    pub base_url: Option<String>,
}

/// Recipients of email, and the server that sends it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmailSettings {
    /// The host name of the mail server.
    pub host: String,
    /// The port, if it is not the default one.
    #[serde(default)]
    pub port: Option<u16>,
    /// The encryption of the connection.
    #[serde(default)]
    pub security: SmtpSecurity,
    /// The login, if the server requires one.
    #[serde(default)]
    pub user: Option<String>,
    /// The password of the login.
    #[serde(default)]
    pub password: Option<Credential>,
    /// The sender's address.
    pub from: String,
    /// The recipients' addresses.
    pub to: Vec<String>,
}

/// The encryption of the connection to a mail server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SmtpSecurity {
    /// TLS from the first byte on.
    #[default]
    Tls,
    /// TLS after the STARTTLS command.
    StartTls,
    /// No encryption: for a server on this machine.
    None,
}

const fn command_timeout() -> Span {
    Span::from_secs(30)
}
