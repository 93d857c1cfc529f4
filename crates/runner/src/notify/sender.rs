//! All channels of a project, each at its own pace.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::QuestionId;
use unstuck_core::question::QuestionOption;
use unstuck_core::tell::AnswerLink;
use unstuck_store::{Store, StoreError};
use unstuck_world::notify::Channel;

use super::line::{Line, Shared};
use crate::clock::Clock;

/// How long it may take to remember what was not told.
const REMEMBERING_MAX: Duration = Duration::from_secs(1);

/// What is to be told to whom.
pub struct Outgoing {
    /// Where the project is remembered.
    pub store: Arc<dyn Store>,
    /// Its name.
    pub project: Arc<str>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who is told.
    pub channels: Vec<Channel>,
    /// Makes the addresses at which they can answer, where there are any.
    pub links: Option<Arc<dyn Links>>,
}

/// Makes addresses at which people can answer.
pub trait Links: Send + Sync {
    /// For whoever hears of a question on a channel.
    fn of(
        &self,
        channel: &str,
        question: QuestionId,
        options: &[QuestionOption],
    ) -> Vec<AnswerLink>;
}

/// Tells what happens in a project until it is finished or dropped.
///
/// It belongs to the process that holds the project. Two at a time would lose nothing, but say some
/// things twice.
pub struct Sender {
    lines: JoinSet<()>,
    end: End,
}

/// How far the end has come.
#[derive(Clone, Default)]
pub(super) struct End {
    /// Nothing more happens.
    pub(super) closing: CancellationToken,
    /// What is still being told is told at the next start.
    pub(super) over: CancellationToken,
}

impl Sender {
    /// Begins with what was not told yet. Start it before the first command: a channel that is new
    /// hears what happens from here on.
    pub async fn start(outgoing: Outgoing) -> Result<Self, StoreError> {
        let Outgoing { store, project, clock, channels, links } = outgoing;
        let shared = Shared { store, project, clock, links };
        let (mut opened, mut lines) = (Vec::new(), JoinSet::new());
        for channel in channels {
            opened.push(Line::open(shared.clone(), channel).await?);
        }
        let end = End::default();
        for line in opened {
            lines.spawn(line.run(end.clone()));
        }
        Ok(Self { lines, end })
    }

    /// Nothing more happens: what can be told now is told, for as long as `grace` at most. What is
    /// left (a channel that is down, quiet hours) is told by the next process. A channel that did
    /// not take a message in that time is waited for no longer than a moment at the next end.
    pub async fn finish(mut self, grace: Duration) {
        self.end.closing.cancel();
        if self.ended_within(grace).await {
            return;
        }
        tracing::info!("some messages are told at the next start");
        self.end.over.cancel();
        self.ended_within(REMEMBERING_MAX).await;
    }

    async fn ended_within(&mut self, time: Duration) -> bool {
        let all = async { while self.lines.join_next().await.is_some() {} };
        tokio::time::timeout(time, all).await.is_ok()
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("channels", &self.lines.len()).finish_non_exhaustive()
    }
}
