//! Reports: the outcomes of effects, the progress of attempts, the notes about runs, and the reports
//! of external runtimes on their sessions. They reach the engine in commands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checked::{Checked, RedCheck};
use crate::attempt::{Approach, ToolKind};
use crate::fault::Fault;
use crate::plan::{MutationSpec, Request};
use crate::policy::Amount;

/// The outcome of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum EffectOutcome {
    /// The agent says that it is done.
    Attempted {
        /// The approach that the agent took.
        approach: Arc<Approach>,
    },
    /// The effect succeeded.
    Done,
    /// An agent has repaired the script.
    Repaired {
        /// The approach of the repair.
        approach: Arc<Approach>,
        /// The branch on which the repair waits for the operator; `None` if the repair is in use.
        branch: Option<Arc<str>>,
    },
    /// The effect failed.
    Failed {
        /// The fault that it failed with.
        fault: Arc<Fault>,
        /// The approach of the attempt, if there was one.
        approach: Option<Arc<Approach>>,
    },
    /// The action happened.
    Applied {
        /// The response, or the place where it is kept.
        result: Arc<str>,
    },
    /// The action certainly did not happen.
    NotApplied,
    /// The action may or may not have happened.
    Unknown {
        /// The fault that left the outcome unknown.
        fault: Arc<Fault>,
    },
    /// The probe could not tell whether the action happened.
    CannotTell {
        /// The output of the probe, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Arc<str>>,
    },
    /// The build's branch moved before the merge.
    HeadMoved,
}

/// The content of an external runtime's report on its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub enum SessionReport {
    /// The attempt failed. The same request again changes nothing.
    Failed {
        /// The request, by which a repeated report is recognized.
        request: Request,
        /// The fault that the attempt failed with.
        fault: Arc<Fault>,
        /// The approach of the attempt.
        approach: Option<Arc<Approach>>,
    },
    /// The goal is reached.
    Done {
        /// The approach of the attempt.
        approach: Arc<Approach>,
    },
    /// The runtime is about to perform an irreversible action.
    Intends {
        /// The intended action.
        mutation: MutationSpec,
    },
    /// The runtime performed an irreversible action.
    Acted {
        /// The action's idempotency key.
        key: String,
        /// The outcome of the action.
        outcome: EffectOutcome,
    },
}

/// The progress of a running attempt since its last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgressReport {
    /// Number of rounds that the agent completed.
    pub iterations: u32,
    /// Number of tools that the agent called.
    pub tool_calls: u32,
    /// True if the checks passed at the end.
    pub validated: bool,
    /// True if no command of the agent is running.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// Cost since the last report.
    pub spent: Amount,
}

impl ProgressReport {
    /// Returns whether the model has answered: with a round or a tool call. The start of an agent is
    /// reported as well and says nothing about the account, and neither does the cost of an answer
    /// that may have broken off.
    pub const fn shows_answer(&self) -> bool {
        self.iterations > 0 || self.tool_calls > 0 || self.validated
    }
}

/// Maximum length of a note's text, in characters.
pub const NOTE_CHARS_MAX: usize = 500;

/// An activity of an agent, or an observation about its work. Texts are redacted before they arrive
/// here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum RunNote {
    /// The agent began a round of thinking.
    Thinking,
    /// The agent called a tool.
    ToolCalled {
        /// The purpose of the tool.
        tool: ToolKind,
        /// The call in one short line.
        label: Arc<str>,
        /// The commands that are running now, including this one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        running: Vec<Arc<str>>,
    },
    /// The agent was denied an action.
    Refused {
        /// The action, in one line.
        what: Arc<str>,
        /// The rule or setting that does not allow it.
        why: Arc<str>,
    },
    /// The agent addressed people.
    Narrated {
        /// The agent's words.
        text: Arc<str>,
    },
    /// A remark of the worker about the run, for people.
    Remarked {
        /// The remark, in whole sentences.
        text: Arc<str>,
    },
    /// The result of the checks on the commit that the build starts from.
    BaseChecked {
        /// The red checks.
        red: Vec<RedCheck>,
    },
    /// The results of a gate's checks. The worker that judges the work runs them, never an agent.
    Checked {
        /// The results.
        checked: Checked,
    },
}
