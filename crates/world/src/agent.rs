//! An agent, as whoever lets it work sees it: one assignment in, what it does while it does it,
//! and how it ended.
//!
//! An agent is a program of its own (Claude Code, Codex) or the loop around a [`crate::model`].
//! Its own words about success decide nothing: what it left in its worktree is checked by others.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{Outcome, ToolKind};
use unstuck_core::fault::Fault;

use crate::process::Wall;

/// How many activities may wait to be taken note of.
pub const ACTIVITIES_QUEUED_MAX: usize = 256;

/// Something that works on a task by itself.
#[async_trait]
pub trait Agent: Send + Sync {
    /// The name of its provider, where people know it by one.
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// Whether it could begin: the program is there, a key is set, nothing forbids it. Costs no
    /// call.
    async fn check(&self) -> Result<(), Fault>;

    /// The wall that its processes are put behind for this assignment, which may be wider than the
    /// one asked for: an agent that is a program keeps its own state and talks to its own service.
    /// [`Wall::try_out`] says how much of it the system holds.
    fn wall(&self, assignment: &Assignment) -> Wall {
        assignment.wall.clone()
    }

    /// The folder in which its program keeps what was said, where that lies with us: secrets are
    /// taken out of it after each attempt.
    fn transcripts(&self) -> Option<&Path> {
        None
    }

    /// Works until it is done, fails, or is told to stop; everything it started is then gone.
    /// Waiting and trying again is not its business: it returns the first failure.
    async fn work(
        &self,
        assignment: Assignment,
        tell: mpsc::Sender<Activity>,
        stop: CancellationToken,
    ) -> Ended;
}

/// What an agent is given for one attempt.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The worktree it works in.
    pub directory: PathBuf,
    /// The lock file its processes hold while one of them lives.
    pub lock: PathBuf,
    /// Everything it is told.
    pub prompt: String,
    /// The conversation that goes on.
    pub thread: Option<String>,
    /// How often an agent began on the task anew, this time included.
    pub attempt: u32,
    /// The model, where it is not the provider's own choice.
    pub model: Option<String>,
    /// The environment of its processes, whole.
    pub environment: Vec<(OsString, OsString)>,
    /// What its processes are kept from, where the system can do that.
    pub wall: Wall,
    /// The very commands that a person allowed beside what its permissions say.
    pub allowed_commands: BTreeSet<String>,
    /// How far it may go.
    pub limits: Limits,
}

/// How far one attempt may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Turns of the conversation.
    pub turns_max: Option<u32>,
    /// Money, in millionths of the account's currency.
    pub money_micros_max: Option<u64>,
    /// Until something is heard of it.
    pub first_byte: Duration,
    /// From one sign of life to the next, while no tool of its own is running.
    pub idle: Duration,
    /// In all.
    pub total: Duration,
}

/// What an agent does while it works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "activity", rename_all = "snake_case")]
pub enum Activity {
    /// The conversation has a name now, under which it can go on after anything.
    Began {
        /// Its name.
        thread: String,
    },
    /// A round of thinking began.
    Thinking,
    /// It said something.
    Said {
        /// What.
        text: String,
    },
    /// It called a tool.
    Called {
        /// Names the call; its result has the same.
        call: String,
        /// What the tool is for.
        tool: ToolKind,
        /// The agent's own name for the tool.
        name: String,
        /// What it was given, as JSON.
        input: String,
    },
    /// A tool returned.
    Returned {
        /// The call.
        call: String,
        /// How it ended.
        outcome: Outcome,
        /// What it showed.
        output: String,
    },
    /// What was used since the last report.
    Used {
        /// How much.
        usage: Usage,
    },
}

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub end: End,
    /// The conversation, where it can go on.
    pub thread: Option<String>,
    /// What it used in all.
    pub usage: Usage,
}

/// Whether an agent finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It came to its end, and says this.
    Finished {
        /// Its last words.
        said: String,
        /// What it was not allowed to do on the way.
        denials: Vec<Denial>,
    },
    /// It could not go on.
    Failed(Box<Fault>),
    /// It was told to stop.
    Stopped,
}

/// Something an agent was not allowed to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// What the tool is for.
    pub tool: ToolKind,
    /// The command or the path.
    pub what: String,
}

/// What calls to a model used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read, without those from a cache.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cached_tokens: u64,
    /// Tokens written to a cache.
    pub cache_written_tokens: u64,
    /// Money, in millionths of the account's currency, where it is known. A provider that reports
    /// nothing is not free: it was not measured.
    pub money_micros: Option<u64>,
    /// Calls of which nothing was reported. Where there are any, all else is only a part of what was
    /// used.
    #[serde(skip_serializing_if = "is_zero")]
    pub unmeasured_calls: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "it is how it is called")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Usage {
    /// One call, of which nothing was reported.
    pub const UNMEASURED: Self = Self {
        input_tokens: 0,
        output_tokens: 0,
        cached_tokens: 0,
        cache_written_tokens: 0,
        money_micros: None,
        unmeasured_calls: 1,
    };

    /// All tokens, in and out.
    pub const fn tokens(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.output_tokens)
            .saturating_add(self.cached_tokens)
            .saturating_add(self.cache_written_tokens)
    }

    /// Both together; money is known only where it is known of both, or one has no tokens. What was
    /// not measured stays said.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let money = match (self.money_micros, other.money_micros) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, None) if other.tokens() == 0 => one,
            (None, two) if self.tokens() == 0 => two,
            _ => None,
        };
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            cache_written_tokens: self
                .cache_written_tokens
                .saturating_add(other.cache_written_tokens),
            money_micros: money,
            unmeasured_calls: self.unmeasured_calls.saturating_add(other.unmeasured_calls),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_not_counted_as_free() {
        let paid = Usage { input_tokens: 5, money_micros: Some(7), ..Usage::default() };
        let unmeasured = Usage { input_tokens: 5, ..Usage::default() };
        assert_eq!(paid.plus(Usage::default()).money_micros, Some(7));
        assert_eq!(Usage::default().plus(paid).money_micros, Some(7));
        assert_eq!(paid.plus(paid).money_micros, Some(14));
        assert_eq!(paid.plus(unmeasured).money_micros, None);
        assert_eq!(paid.plus(unmeasured).tokens(), 10);
    }

    #[test]
    fn a_sum_says_that_a_part_of_it_was_not_measured() {
        let paid = Usage { input_tokens: 5, money_micros: Some(7), ..Usage::default() };
        for sum in [paid.plus(Usage::UNMEASURED), Usage::UNMEASURED.plus(paid)] {
            assert_eq!((sum.money_micros, sum.unmeasured_calls), (Some(7), 1));
            assert_eq!(sum.plus(sum).unmeasured_calls, 2);
        }
        assert_eq!(paid.plus(paid).unmeasured_calls, 0);
        let written = serde_json::to_string(&paid).unwrap();
        assert!(!written.contains("unmeasured"), "{written}");
    }
}
