//! A message, and channels to send it by.

use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::{BuildId, QuestionId, TaskId};
use unstuck_core::fault::{Code, Work};
use unstuck_core::question::{QuestionFacts, QuestionKind, Reason, build_text};
use unstuck_core::tell::{News, NewsKind, Notification};
use unstuck_core::time::Time;
use unstuck_world::notify::{ChannelContext, ChannelSettings, NotifyChannel, TimeZone};
use unstuck_world::redact::Redactor;

use crate::support::guard;

pub(crate) const NOW: Time = Time::from_millis(1_700_000_000_123);
/// A secret that must not be shown, and that does not look like one.
pub(crate) const CANARY: &str = "swordfish tuesday";

/// A question about something that took too long.
pub(crate) fn message() -> Notification {
    let (id, titles) = (QuestionId(3), ["Payment webhook"]);
    let code = Some(Code::OperationTimeout);
    let asked = QuestionFacts {
        work: Work::Task,
        titles: &titles,
        tasks: 1,
        ..QuestionFacts::new(QuestionKind::Choice, code, Reason::FirstOccurrence)
    };
    let news = News { seq: 12, at: NOW, what: NewsKind::Asked(id) };
    Notification::question_asked("shop", &news, id, code, &build_text(&asked))
        .with_build(Some(BuildId(7)))
}

/// A failure of a task whose title holds a secret.
pub(crate) fn indiscreet() -> Notification {
    let what = NewsKind::TaskFailed(TaskId(1), Code::ConfigInvalid);
    let news = News { seq: 13, at: NOW, what };
    let message = Notification::task_failed("shop", &news, CANARY, Work::Task, Code::ConfigInvalid);
    assert!(message.body.contains(CANARY), "its title is plain enough to be shown");
    message
}

pub(crate) fn settings(toml: &str) -> ChannelSettings {
    toml::from_str(toml).unwrap()
}

pub(crate) fn channel(toml: &str) -> NotifyChannel {
    channel_in(toml, Path::new("/"))
}

/// A channel whose programs run and are looked for in a folder.
pub(crate) fn channel_in(toml: &str, folder: &Path) -> NotifyChannel {
    NotifyChannel::new("phone", settings(toml), &means(folder)).unwrap()
}

pub(crate) fn means(folder: &Path) -> ChannelContext {
    ChannelContext {
        redactor: Arc::new(Redactor::new([CANARY])),
        zone: TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap(),
        guard: guard(),
        locks: folder.to_owned(),
        directory: folder.to_owned(),
        path: Some(folder.into()),
    }
}
