//! A channel: one destination of messages.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use unstuck_core::fault::Fault;
use unstuck_core::tell::{Notification, NotificationLevel};
use unstuck_core::time::Time;

use super::chat::{DiscordChannel, NtfyChannel, SlackChannel, TelegramChannel};
use super::delivery::DeliveryError;
use super::email::EmailChannel;
use super::program::{CommandChannel, DesktopChannel, ProgramRunner};
use super::quiet::QuietHours;
use super::settings::{ChannelKind, ChannelSettings};
use super::webhook::WebhookChannel;
use crate::process::GuardCommand;
use crate::redact::Redactor;

/// The environment that all channels share.
#[derive(Clone, Debug)]
pub struct ChannelContext {
    /// The redactor that removes secrets from all outgoing text.
    pub redactor: Arc<Redactor>,
    /// The time zone of quiet hours.
    pub zone: TimeZone,
    /// The program that becomes the guard process of commands.
    pub guard: GuardCommand,
    /// The folder of the lock files of commands; it exists.
    pub locks: PathBuf,
    /// The folder in which commands start.
    pub directory: PathBuf,
    /// The search path of programs, as in `PATH`.
    pub path: Option<OsString>,
}

/// A destination of messages.
#[derive(Debug)]
pub struct NotifyChannel {
    name: String,
    level: NotificationLevel,
    quiet: Option<(QuietHours, TimeZone)>,
    redactor: Arc<Redactor>,
    way: ChannelBackend,
}

/// The transport of a channel, ready to use.
#[derive(Debug)]
enum ChannelBackend {
    Desktop(DesktopChannel),
    Webhook(WebhookChannel),
    Slack(SlackChannel),
    Command(CommandChannel),
    Discord(DiscordChannel),
    Telegram(TelegramChannel),
    Ntfy(NtfyChannel),
    Email(Box<EmailChannel>),
}

impl NotifyChannel {
    /// Makes the channel of this name; fails if its settings cannot work. Sends nothing.
    pub fn new(
        name: &str,
        settings: ChannelSettings,
        means: &ChannelContext,
    ) -> Result<Self, Fault> {
        let runner = || ProgramRunner {
            guard: means.guard.clone(),
            lock: means.locks.join(lock_file_name(name)),
            directory: means.directory.clone(),
        };
        let way = match settings.way {
            ChannelKind::Desktop(_) => {
                ChannelBackend::Desktop(DesktopChannel::new(runner(), means.path.as_deref()))
            }
            ChannelKind::Webhook(settings) => {
                ChannelBackend::Webhook(WebhookChannel::new(settings)?)
            }
            ChannelKind::Slack(settings) => ChannelBackend::Slack(SlackChannel::new(&settings)?),
            ChannelKind::Command(settings) => {
                ChannelBackend::Command(CommandChannel::new(settings, runner())?)
            }
            ChannelKind::Discord(settings) => {
                ChannelBackend::Discord(DiscordChannel::new(&settings)?)
            }
            ChannelKind::Telegram(settings) => {
                ChannelBackend::Telegram(TelegramChannel::new(settings)?)
            }
            ChannelKind::Ntfy(settings) => ChannelBackend::Ntfy(NtfyChannel::new(settings)?),
            ChannelKind::Email(settings) => {
                ChannelBackend::Email(Box::new(EmailChannel::new(settings)?))
            }
        };
        let quiet = settings.quiet_hours.map(|hours| (hours, means.zone.clone()));
        let redactor = Arc::clone(&means.redactor);
        Ok(Self { name: name.to_owned(), level: settings.level, quiet, redactor, way })
    }

    /// Returns the name in the settings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the level of messages that the channel takes.
    pub const fn level(&self) -> NotificationLevel {
        self.level
    }

    /// Returns the end of the quiet hours, if `now` is in them.
    pub fn quiet_until(&self, now: Time) -> Option<Time> {
        self.quiet.as_ref().and_then(|(hours, zone)| hours.find_end(now, zone))
    }

    /// Tries once to deliver a message, with secrets removed.
    pub async fn deliver(&self, message: &Notification, now: Time) -> Result<(), DeliveryError> {
        let message = &self.redact_message(message);
        match &self.way {
            ChannelBackend::Desktop(way) => way.deliver(message).await,
            ChannelBackend::Webhook(way) => way.deliver(message, now).await,
            ChannelBackend::Slack(way) => way.deliver(message).await,
            ChannelBackend::Command(way) => way.deliver(message).await,
            ChannelBackend::Discord(way) => way.deliver(message).await,
            ChannelBackend::Telegram(way) => way.deliver(message).await,
            ChannelBackend::Ntfy(way) => way.deliver(message).await,
            ChannelBackend::Email(way) => way.deliver(message, now).await,
        }
    }

    /// Removes known secrets from a message. Its text is fit to be public already; a title may
    /// still hold a value that only the redactor knows to be secret.
    fn redact_message(&self, message: &Notification) -> Notification {
        let clean = |text: &str| self.redactor.redact_text(text).into_owned();
        let mut clean_message = Notification {
            project: clean(&message.project),
            title: clean(&message.title),
            body: clean(&message.body),
            ..message.clone()
        };
        for option in &mut clean_message.options {
            option.label = clean(&option.label);
            option.description = clean(&option.description);
        }
        clean_message
    }
}

fn lock_file_name(name: &str) -> String {
    let plain = |sign: char| if sign.is_ascii_alphanumeric() { sign } else { '-' };
    format!("notify-{}.lock", name.chars().take(60).map(plain).collect::<String>())
}
