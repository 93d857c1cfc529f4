//! The interface to an agent: one assignment in, a stream of activities while it works, and how it
//! ended.
//!
//! An agent is a program of its own (Claude Code, Codex) or the loop around a [`crate::model`]. The
//! agent's own claim of success decides nothing: the checks run on the worktree that it leaves.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{ActionOutcome, ToolKind};
use unstuck_core::fault::Fault;

use crate::process::Wall;

/// Maximum number of activities in the queue between an agent and its worker.
pub const ACTIVITIES_QUEUED_MAX: usize = 256;

/// An agent that works on a task by itself.
#[async_trait]
pub trait Agent: Send + Sync {
    /// Returns the display name of the agent's provider, if it has one.
    fn provider_name(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether the agent's program says at the end of an attempt what it cost.
    fn reports_cost(&self) -> bool {
        false
    }

    /// Returns the hosts that the agent's program connects to by itself, besides its service.
    fn background_hosts(&self) -> &'static [&'static str] {
        &[]
    }

    /// Checks that the agent can start: the program exists, a key is set, no policy forbids it.
    /// Makes no call to the model.
    async fn check_ready(&self) -> Result<(), Fault>;

    /// Returns the wall that the agent's processes run behind for this assignment. The result may
    /// be wider than `assignment.wall`, because an agent that is a program keeps its own state and
    /// talks to its own service. [`Wall::try_out`] reports how much of it the system can enforce.
    fn wall_for(&self, assignment: &AgentAssignment) -> Wall {
        assignment.wall.clone()
    }

    /// Returns whether the agent sets up a sandbox of its own for this assignment, in which case
    /// Unstuck's is not around it.
    fn has_own_sandbox(&self, _assignment: &AgentAssignment) -> bool {
        false
    }

    /// Returns the folder in which the agent's program keeps its transcripts, if that folder
    /// belongs to Unstuck: secrets are redacted from it after each attempt.
    fn transcript_folder(&self) -> Option<&Path> {
        None
    }

    /// Works until the task is done, the agent fails, or `stop` is canceled; every process that the
    /// agent started has ended on return. Returns the first failure: backoff and retry belong to
    /// the caller.
    async fn work_on(
        &self,
        assignment: AgentAssignment,
        tell: mpsc::Sender<Activity>,
        stop: CancellationToken,
    ) -> AgentResult;
}

/// The input of an agent for one attempt.
#[derive(Clone, Debug)]
pub struct AgentAssignment {
    /// The folder that the agent starts in: the worktree, or the folder of the project in it.
    pub directory: PathBuf,
    /// The root of the worktree.
    pub worktree: PathBuf,
    /// The lock file that is held as long as one of the agent's processes lives.
    pub lock: PathBuf,
    /// The whole prompt.
    pub prompt: String,
    /// The id of the conversation to resume; `None` starts a new one.
    pub thread: Option<String>,
    /// Number of times that an agent began on the task anew, this attempt included.
    pub attempt: u32,
    /// The model; `None` leaves the choice to the provider.
    pub model: Option<String>,
    /// The complete environment of the agent's processes; they inherit no other variable.
    pub environment: Vec<(OsString, OsString)>,
    /// The sandbox around the agent's processes, as far as the system can enforce it.
    pub wall: Wall,
    /// Exact commands that the operator allowed in addition to the agent's permissions.
    pub allowed_commands: BTreeSet<String>,
    /// The limits of the attempt.
    pub limits: AttemptLimits,
}

impl AgentAssignment {
    /// Returns the worktree, if the agent starts in a folder of it.
    pub(crate) fn worktree_above(&self) -> Option<&Path> {
        Some(&*self.worktree).filter(|root| *root != self.directory)
    }
}

/// The limits of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptLimits {
    /// Maximum number of turns in the conversation.
    pub turns_max: Option<u32>,
    /// Maximum cost, in millionths of the account's currency.
    pub money_micros_max: Option<u64>,
    /// Time until the first sign of life.
    pub first_byte: Duration,
    /// Time between two signs of life while no tool of the agent's own is running.
    pub idle: Duration,
    /// Time for the whole attempt.
    pub total: Duration,
}

/// An activity of an agent while it works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "activity", rename_all = "snake_case")]
pub enum Activity {
    /// The conversation has an id now, by which it can be resumed after any interruption.
    Began {
        /// The id of the conversation.
        thread: String,
    },
    /// A round of thinking began.
    Thinking,
    /// The agent wrote text.
    Said {
        /// The text.
        text: String,
    },
    /// The agent called a tool.
    Called {
        /// The id of the call; its [`Activity::Returned`] carries the same id.
        call: String,
        /// The kind of tool.
        tool: ToolKind,
        /// The agent's own name for the tool.
        name: String,
        /// The tool's input, as JSON.
        input: String,
    },
    /// A tool returned.
    Returned {
        /// The id of the call.
        call: String,
        /// The outcome of the call.
        outcome: ActionOutcome,
        /// The tool's output.
        output: String,
    },
    /// A report of usage since the previous report.
    Used {
        /// The usage since the previous report.
        usage: Usage,
    },
}

/// The result of one attempt of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentResult {
    /// The way in which the attempt ended.
    pub end: AgentEnd,
    /// The id of the conversation, if it can be resumed.
    pub thread: Option<String>,
    /// The usage of the whole attempt.
    pub usage: Usage,
}

/// The way in which an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEnd {
    /// The agent finished by itself.
    Finished {
        /// The agent's final message.
        said: String,
        /// Actions that the agent's permissions denied during the attempt.
        denials: Vec<Denial>,
    },
    /// The agent could not continue.
    Failed(Box<Fault>),
    /// The agent was told to stop.
    Stopped,
}

/// An action that an agent was not allowed to perform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The kind of tool.
    pub tool: ToolKind,
    /// The command or the path.
    pub what: String,
}

/// The tokens and the money that calls to a model used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens, without those read from a cache.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens read from a cache.
    pub cached_tokens: u64,
    /// Tokens written to a cache.
    pub cache_written_tokens: u64,
    /// Cost in millionths of the account's currency, if known. `None` means that the cost was not
    /// measured, not that the call was free.
    pub money_micros: Option<u64>,
    /// Number of calls without any report of usage. If it is above zero, the other fields cover
    /// only a part of the usage.
    #[serde(skip_serializing_if = "is_zero")]
    pub unmeasured_calls: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "it is how it is called")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Usage {
    /// The usage of one call for which the provider reported nothing.
    pub const UNMEASURED: Self = Self {
        input_tokens: 0,
        output_tokens: 0,
        cached_tokens: 0,
        cache_written_tokens: 0,
        money_micros: None,
        unmeasured_calls: 1,
    };

    /// Returns the sum of all tokens: input, output, and cache.
    pub const fn total_tokens(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.output_tokens)
            .saturating_add(self.cached_tokens)
            .saturating_add(self.cache_written_tokens)
    }

    /// Returns the sum of both. The cost of the sum is known only if it is known for both, or if
    /// the one without a cost has no tokens. Unmeasured calls are added up.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let money = match (self.money_micros, other.money_micros) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, None) if other.total_tokens() == 0 => one,
            (None, two) if self.total_tokens() == 0 => two,
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
        assert_eq!(paid.plus(unmeasured).total_tokens(), 10);
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
