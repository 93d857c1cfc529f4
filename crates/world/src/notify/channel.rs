//! A channel: one destination of messages.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use unstuck_core::fault::Fault;
use unstuck_core::tell::{Level, Message};
use unstuck_core::time::Time;

use super::command::Command;
use super::desktop::Desktop;
use super::discord::Discord;
use super::email::Email;
use super::ntfy::Ntfy;
use super::program::Room;
use super::quiet::QuietHours;
use super::settings::{ChannelSettings, Way};
use super::slack::Slack;
use super::telegram::Telegram;
use super::undelivered::Undelivered;
use super::webhook::Webhook;
use crate::process::Guard;
use crate::redact::Redactor;

/// The environment that all channels share.
#[derive(Clone, Debug)]
pub struct Means {
    /// The redactor that removes secrets from all outgoing text.
    pub redactor: Arc<Redactor>,
    /// The time zone of quiet hours.
    pub zone: TimeZone,
    /// The program that becomes the guard process of commands.
    pub guard: Guard,
    /// The folder of the lock files of commands; it exists.
    pub locks: PathBuf,
    /// The folder in which commands start.
    pub directory: PathBuf,
    /// The search path of programs, as in `PATH`.
    pub path: Option<OsString>,
}

/// A destination of messages.
#[derive(Debug)]
pub struct Channel {
    name: String,
    level: Level,
    quiet: Option<(QuietHours, TimeZone)>,
    redactor: Arc<Redactor>,
    way: Ready,
}

/// The transport of a channel, ready to use.
#[derive(Debug)]
enum Ready {
    Desktop(Desktop),
    Webhook(Webhook),
    Slack(Slack),
    Command(Command),
    Discord(Discord),
    Telegram(Telegram),
    Ntfy(Ntfy),
    Email(Box<Email>),
}

impl Channel {
    /// Makes the channel of this name; fails if its settings cannot work. Sends nothing.
    pub fn new(name: &str, settings: ChannelSettings, means: &Means) -> Result<Self, Fault> {
        let room = || Room {
            guard: means.guard.clone(),
            lock: means.locks.join(lock_name(name)),
            directory: means.directory.clone(),
        };
        let way = match settings.way {
            Way::Desktop(_) => Ready::Desktop(Desktop::new(room(), means.path.as_deref())),
            Way::Webhook(settings) => Ready::Webhook(Webhook::new(settings)?),
            Way::Slack(settings) => Ready::Slack(Slack::new(&settings)?),
            Way::Command(settings) => Ready::Command(Command::new(settings, room())?),
            Way::Discord(settings) => Ready::Discord(Discord::new(&settings)?),
            Way::Telegram(settings) => Ready::Telegram(Telegram::new(settings)?),
            Way::Ntfy(settings) => Ready::Ntfy(Ntfy::new(settings)?),
            Way::Email(settings) => Ready::Email(Box::new(Email::new(settings)?)),
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
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Returns the end of the quiet hours, if `now` is in them.
    pub fn quiet_until(&self, now: Time) -> Option<Time> {
        self.quiet.as_ref().and_then(|(hours, zone)| hours.end(now, zone))
    }

    /// Tries once to deliver a message, with secrets removed.
    pub async fn deliver(&self, message: &Message, now: Time) -> Result<(), Undelivered> {
        let message = &self.redacted(message);
        match &self.way {
            Ready::Desktop(way) => way.deliver(message).await,
            Ready::Webhook(way) => way.deliver(message, now).await,
            Ready::Slack(way) => way.deliver(message).await,
            Ready::Command(way) => way.deliver(message).await,
            Ready::Discord(way) => way.deliver(message).await,
            Ready::Telegram(way) => way.deliver(message).await,
            Ready::Ntfy(way) => way.deliver(message).await,
            Ready::Email(way) => way.deliver(message, now).await,
        }
    }

    /// Removes known secrets from a message. Its text is fit to be public already; a title may
    /// still hold a value that only the redactor knows to be secret.
    fn redacted(&self, message: &Message) -> Message {
        let clean = |text: &str| self.redactor.text(text).into_owned();
        let mut clean_message = Message {
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

/// Returns the name of a channel's lock file.
fn lock_name(name: &str) -> String {
    let plain = |sign: char| if sign.is_ascii_alphanumeric() { sign } else { '-' };
    format!("notify-{}.lock", name.chars().take(60).map(plain).collect::<String>())
}
