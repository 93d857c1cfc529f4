//! What a person sets for a channel: `[notify.NAME]` of `unstuck.toml`.

use serde::Deserialize;
use unstuck_core::tell::Level;
use unstuck_core::time::Span;

use super::email::Security;
use super::quiet::QuietHours;
use crate::provider::Credential;

/// One channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ChannelSettings {
    /// How much it wants to hear.
    #[serde(default)]
    pub level: Level,
    /// When it wants to be left alone: what happens meanwhile is told afterwards.
    #[serde(default)]
    pub quiet_hours: Option<QuietHours>,
    /// How it is reached. Its fields refuse what nobody knows.
    #[serde(flatten)]
    pub way: Way,
}

/// How a channel is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Way {
    /// By a note on the screen.
    Desktop(DesktopSettings),
    /// By a signed request.
    Webhook(WebhookSettings),
    /// In Slack.
    Slack(SlackSettings),
    /// By a program of the person's own.
    Command(CommandSettings),
    /// In Discord.
    Discord(DiscordSettings),
    /// In Telegram.
    Telegram(TelegramSettings),
    /// By ntfy.
    Ntfy(NtfySettings),
    /// By e-mail.
    Email(EmailSettings),
}

/// A note on the screen of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesktopSettings {}

/// A request to an address of the person's own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// Where to.
    pub url: Credential,
    /// What it is signed with; without one it is not signed.
    #[serde(default)]
    pub secret: Option<Credential>,
}

/// An incoming webhook of Slack.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackSettings {
    /// The address that Slack gave; whoever has it can post.
    pub url: Credential,
}

/// A program that gets the message as JSON on its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSettings {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// How long it may take.
    #[serde(default = "command_timeout")]
    pub timeout_ms: Span,
}

/// A webhook of a Discord channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscordSettings {
    /// The address that Discord gave; whoever has it can post.
    pub url: Credential,
}

/// A bot of Telegram.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelegramSettings {
    /// The bot's token.
    pub token: Credential,
    /// The chat it writes to: a number, or `@channel`.
    pub chat: String,
    /// The address of the service, where it is not Telegram's own.
    #[serde(default)]
    pub base_url: Option<String>,
}

/// A topic of ntfy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NtfySettings {
    /// The topic; whoever knows it can read along.
    pub topic: Credential,
    /// The access token, where the topic is protected.
    #[serde(default)]
    pub token: Option<Credential>,
    /// The address of the service, where it is not ntfy.sh.
    #[serde(default)]
    pub base_url: Option<String>,
}

/// A mailbox.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmailSettings {
    /// The mail server.
    pub host: String,
    /// Its port, where it is not the usual one.
    #[serde(default)]
    pub port: Option<u16>,
    /// How the connection is kept from others.
    #[serde(default)]
    pub security: Security,
    /// The login, where the server wants one.
    #[serde(default)]
    pub user: Option<String>,
    /// Its password.
    #[serde(default)]
    pub password: Option<Credential>,
    /// Who writes.
    pub from: String,
    /// Who reads.
    pub to: Vec<String>,
}

const fn command_timeout() -> Span {
    Span::from_secs(30)
}
