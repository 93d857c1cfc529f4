//! News: the events that a person who is not watching wants to be notified of.
//!
//! Each cause is one piece of news. A task that joins an open question, a wait that ends without help (a
//! closed gate, a backoff, the sleep until the next day) and a pause that comes with its question are not
//! news.

use serde::{Deserialize, Serialize};

use crate::engine::{
    BuildId, Event, MutationId, PauseCause, QuestionId, Reconciled, RecordedEvent, TaskId,
};
use crate::fault::Code;
use crate::time::Time;

/// The amount of news a recipient wants; each level includes those before it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum NotificationLevel {
    /// Only questions that wait for the recipient's answer.
    #[default]
    Questions,
    /// Also failures and paused work.
    Failures,
    /// Also successes.
    All,
}

/// An event worth reporting, by its position in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// The journal position of the event.
    pub seq: u64,
    /// The time of the event.
    pub at: Time,
    /// The event.
    pub what: NewsKind,
}

/// The kind of a news event, with its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewsKind {
    /// A question was asked.
    Asked(QuestionId),
    /// A task failed for good.
    TaskFailed(TaskId, Code),
    /// A build ended with a failure.
    BuildFailed(BuildId, Code),
    /// All remaining work of a build waits for a person.
    BuildWaits(BuildId),
    /// A person paused a build.
    BuildPaused(BuildId),
    /// A build ended.
    BuildCompleted(BuildId),
    /// An action happened; its kind decides whether work was shipped.
    Acted(MutationId),
}

/// Returns the news that an event is, if any.
pub fn news_from_event(recorded: &RecordedEvent) -> Option<News> {
    let what = match &recorded.event {
        Event::QuestionAsked { question } => NewsKind::Asked(question.id),
        Event::TaskFailed { task, code } => NewsKind::TaskFailed(*task, *code),
        Event::BuildFailed { build, fault } => NewsKind::BuildFailed(*build, fault.code()),
        Event::BuildWaiting { build } => NewsKind::BuildWaits(*build),
        // The other pauses come with a question, which reports them.
        Event::BuildPaused { build, cause: PauseCause::Person, .. } => {
            NewsKind::BuildPaused(*build)
        }
        Event::BuildCompleted { build } => NewsKind::BuildCompleted(*build),
        Event::MutationApplied { mutation, .. }
        | Event::MutationReconciled { mutation, to: Reconciled::Applied, .. } => {
            NewsKind::Acted(*mutation)
        }
        _ => return None,
    };
    Some(News { seq: recorded.seq, at: recorded.at, what })
}

impl News {
    /// Returns the level from which recipients are notified.
    pub const fn level(&self) -> NotificationLevel {
        match self.what {
            NewsKind::Asked(_) => NotificationLevel::Questions,
            NewsKind::TaskFailed(..) | NewsKind::BuildFailed(..) | NewsKind::BuildWaits(_) => {
                NotificationLevel::Failures
            }
            // The person who paused the build knows of it.
            NewsKind::BuildPaused(_) | NewsKind::BuildCompleted(_) | NewsKind::Acted(_) => {
                NotificationLevel::All
            }
        }
    }
}
