//! One place that messages go to.

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

/// What channels need of the outside, the same for all of them.
#[derive(Clone, Debug)]
pub struct Means {
    /// Takes secrets out of everything that leaves.
    pub redactor: Arc<Redactor>,
    /// The time zone of quiet hours.
    pub zone: TimeZone,
    /// What becomes the guard of programs.
    pub guard: Guard,
    /// Where the lock files of programs are; it exists.
    pub locks: PathBuf,
    /// Where programs start.
    pub directory: PathBuf,
    /// Where programs are looked for, as in `PATH`.
    pub path: Option<OsString>,
}

/// One place that messages go to.
#[derive(Debug)]
pub struct Channel {
    name: String,
    level: Level,
    quiet: Option<(QuietHours, TimeZone)>,
    redactor: Arc<Redactor>,
    way: Ready,
}

/// A way that can be gone.
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
    /// The channel of this name, unless its settings cannot work. Nothing is sent.
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

    /// Its name in the settings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How much it wants to hear.
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Until when it wants to be left alone, if it does now.
    pub fn quiet_until(&self, now: Time) -> Option<Time> {
        self.quiet.as_ref().and_then(|(hours, zone)| hours.end(now, zone))
    }

    /// Tries once to deliver a message, without any secret in it.
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

    /// The words are public already; a title may still hold what only we know to be secret.
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

/// A name of the settings as the name of a file.
fn lock_name(name: &str) -> String {
    let plain = |sign: char| if sign.is_ascii_alphanumeric() { sign } else { '-' };
    format!("notify-{}.lock", name.chars().take(60).map(plain).collect::<String>())
}
