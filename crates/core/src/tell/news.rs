//! Which events are news: what somebody who is not watching wants to hear of.
//!
//! One cause is one piece of news. A task that joins an open question, a wait that ends by itself
//! (a closed gate, a break, the rest until the next day) and a pause that comes with its question
//! are none.

use serde::{Deserialize, Serialize};

use crate::engine::{
    BuildId, Event, MutationId, PauseCause, QuestionId, Reconciled, Recorded, TaskId,
};
use crate::fault::Code;
use crate::time::Time;

/// How much somebody wants to hear; each level includes those before it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Only what waits for their answer.
    #[default]
    Questions,
    /// What failed or stands still, too.
    Failures,
    /// What went well, too.
    All,
}

/// Something worth telling, by its place in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// The position of its event.
    pub seq: u64,
    /// When it happened.
    pub at: Time,
    /// What happened.
    pub what: Happened,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A person is asked.
    Asked(QuestionId),
    /// A task failed for good.
    TaskFailed(TaskId, Code),
    /// A build cannot go on at all.
    BuildFailed(BuildId, Code),
    /// All that is left of a build waits for a person.
    BuildWaits(BuildId),
    /// A person paused a build.
    BuildPaused(BuildId),
    /// A build came to its end.
    BuildCompleted(BuildId),
    /// An action happened; whether it shipped anything depends on its kind.
    Acted(MutationId),
}

/// What is worth telling about an event.
pub fn news(recorded: &Recorded) -> Option<News> {
    let what = match &recorded.event {
        Event::QuestionAsked { question } => Happened::Asked(question.id),
        Event::TaskFailed { task, code } => Happened::TaskFailed(*task, *code),
        Event::BuildFailed { build, fault } => Happened::BuildFailed(*build, fault.code()),
        Event::BuildWaiting { build } => Happened::BuildWaits(*build),
        // The other pauses come with a question, which says it.
        Event::BuildPaused { build, cause: PauseCause::Person, .. } => {
            Happened::BuildPaused(*build)
        }
        Event::BuildCompleted { build } => Happened::BuildCompleted(*build),
        Event::MutationApplied { mutation, .. }
        | Event::MutationReconciled { mutation, to: Reconciled::Applied, .. } => {
            Happened::Acted(*mutation)
        }
        _ => return None,
    };
    Some(News { seq: recorded.seq, at: recorded.at, what })
}

impl News {
    /// Who hears of it.
    pub const fn level(&self) -> Level {
        match self.what {
            Happened::Asked(_) => Level::Questions,
            Happened::TaskFailed(..) | Happened::BuildFailed(..) | Happened::BuildWaits(_) => {
                Level::Failures
            }
            // Whoever paused it knows.
            Happened::BuildPaused(_) | Happened::BuildCompleted(_) | Happened::Acted(_) => {
                Level::All
            }
        }
    }
}
