//! Notification channels that reach an absent operator: one file per kind.
//!
//! A [`NotifyChannel`] is one destination of messages, with its level and its quiet hours.
//! [`NotifyChannel::deliver`] tries once and returns the outcome ([`DeliveryError`]); the caller decides
//! when to retry. No failure here changes a run. Addresses and keys are secrets and are never
//! shown. The design is in `docs/design/notifications.md`.

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

pub use channel::{ChannelContext, NotifyChannel};
pub use email::SmtpSecurity;
pub use jiff::tz::TimeZone;
pub use quiet::{QuietHours, QuietHoursError};
pub use settings::{
    ChannelKind, ChannelSettings, CommandSettings, DesktopSettings, DiscordSettings, EmailSettings,
    NtfySettings, SlackSettings, TelegramSettings, WebhookSettings,
};
pub use undelivered::{DeliveryDelay, DeliveryError};
