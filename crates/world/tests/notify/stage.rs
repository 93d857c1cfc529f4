//! A message, and channels to send it by.

use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{BuildId, QuestionId, TaskId};
use unstuck_core::fault::{Code, Work};
use unstuck_core::question::{Asked, QuestionKind, Reason, text};
use unstuck_core::tell::{Happened, Message, News};
use unstuck_core::time::Time;
use unstuck_world::notify::{Channel, ChannelSettings, Means, TimeZone};
use unstuck_world::process::Guard;
use unstuck_world::redact::Redactor;

pub(crate) const NOW: Time = Time::from_millis(1_700_000_000_123);
/// A secret that must not be shown, and that does not look like one.
pub(crate) const CANARY: &str = "swordfish tuesday";

/// A question about something that took too long.
pub(crate) fn message() -> Message {
    let (id, titles) = (QuestionId(3), ["Payment webhook"]);
    let code = Some(Code::OperationTimeout);
    let asked = Asked {
        work: Work::Task,
        titles: &titles,
        tasks: 1,
        ..Asked::new(QuestionKind::Choice, code, Reason::FirstOccurrence)
    };
    let news = News { seq: 12, at: NOW, what: Happened::Asked(id) };
    Message::asked("shop", &news, id, code, &text(&asked)).about(Some(BuildId(7)))
}

/// A failure of a task whose title holds a secret.
pub(crate) fn indiscreet() -> Message {
    let what = Happened::TaskFailed(TaskId(1), Code::ConfigInvalid);
    let news = News { seq: 13, at: NOW, what };
    let message = Message::task_failed("shop", &news, CANARY, Work::Task, Code::ConfigInvalid);
    assert!(message.body.contains(CANARY), "its title is plain enough to be shown");
    message
}

pub(crate) fn settings(toml: &str) -> ChannelSettings {
    toml::from_str(toml).unwrap()
}

pub(crate) fn channel(toml: &str) -> Channel {
    channel_in(toml, Path::new("/"))
}

/// A channel whose programs run and are looked for in a folder.
pub(crate) fn channel_in(toml: &str, folder: &Path) -> Channel {
    Channel::new("phone", settings(toml), &means(folder)).unwrap()
}

pub(crate) fn means(folder: &Path) -> Means {
    let executable = env!("CARGO_BIN_EXE_unstuck-guard").into();
    Means {
        redactor: Arc::new(Redactor::new([CANARY])),
        zone: TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap(),
        guard: Guard { executable, arguments: Vec::new() },
        locks: folder.to_owned(),
        directory: folder.to_owned(),
        path: Some(folder.into()),
    }
}
