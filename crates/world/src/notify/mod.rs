//! Telling somebody who is elsewhere: one file per way to reach them.
//!
//! A [`Channel`] is one place that messages go to, with what it wants to hear and when it wants to
//! be left alone. [`Channel::deliver`] tries once and says what came of it ([`Undelivered`]); when to
//! try again is for whoever calls it. Nothing that goes wrong here changes a run. Addresses and keys
//! are secrets and are never shown. The design is in `docs/design/notifications.md`.

mod channel;
mod command;
mod desktop;
mod discord;
mod email;
mod ntfy;
mod payload;
mod post;
mod program;
mod quiet;
mod settings;
mod slack;
mod telegram;
mod undelivered;
mod webhook;

pub use channel::{Channel, Means};
pub use email::Security;
pub use jiff::tz::TimeZone;
pub use quiet::{QuietHours, UnreadableHours};
pub use settings::{
    ChannelSettings, CommandSettings, DesktopSettings, DiscordSettings, EmailSettings,
    NtfySettings, SlackSettings, TelegramSettings, Way, WebhookSettings,
};
pub use undelivered::{Undelivered, Wait};
