//! Notification channels that reach an absent operator.
//!
//! A [`NotifyChannel`] is one destination of messages, with its level and its quiet hours.
//! [`NotifyChannel::deliver`] tries once and returns the outcome ([`DeliveryError`]); the caller
//! decides when to retry. No failure here changes a run. Addresses and keys are secrets and are
//! never shown. The design is in `docs/design/notifications.md`.

mod channel;
mod chat;
mod delivery;
mod email;
mod program;
mod quiet;
mod settings;
mod webhook;

pub use channel::{ChannelContext, NotifyChannel};
pub use delivery::{DeliveryDelay, DeliveryError};
pub use jiff::tz::TimeZone;
pub use quiet::{QuietHours, QuietHoursError};
pub use settings::{
    ChannelKind, ChannelSettings, CommandSettings, DesktopSettings, DiscordSettings, EmailSettings,
    NtfySettings, SlackSettings, SmtpSecurity, TelegramSettings, WebhookSettings,
};
