//! The typed context of each fault: the facts its detector had in hand.
//!
//! A context holds facts only. Times to wait (`retry_after`, `resets_at`) stand on the fault
//! itself, because any server may state them.

use serde::{Deserialize, Serialize};

use crate::policy::Amount;
use crate::signature::Signature;

/// Declares plain context structs with the derives they share.
macro_rules! contexts {
    ($($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $ty:ty,)* })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(default)]
        pub struct $name { $($(#[$doc])* pub $field: $ty,)* }
    )+};
}

contexts! {
    /// A process died of itself.
    Crash {
        /// Its exit status, where it had one.
        exit: Option<i32>,
        /// The signal that ended it, where one did.
        signal: Option<i32>,
    }

    /// An HTTP exchange with a provider that went wrong.
    Http {
        /// The status, where there was an answer.
        status: Option<u16>,
        /// The error type the server named in its answer.
        error_type: Option<String>,
        /// The server's id of the request, for its support.
        request_id: Option<String>,
    }

    /// A server asked us to slow down.
    RateLimit {
        /// The status, where there was one.
        status: Option<u16>,
        /// What is limited, as the server names it (requests, tokens, a plan's window).
        limited: Option<String>,
    }

    /// The model or the agent program itself.
    Provider {
        /// The provider's name (`claude-cli`, `anthropic-api`).
        name: String,
        /// The model asked for, where one was named.
        model: Option<String>,
    }

    /// A deadline passed.
    Timeout {
        /// What had the deadline.
        operation: String,
        /// The deadline, in milliseconds.
        limit_ms: u64,
    }

    /// A check that Unstuck ran was red.
    Validation {
        /// The command that was run.
        command: String,
        /// Its exit status, where it had one.
        exit: Option<i32>,
        /// The meaningful tail of its output, redacted.
        output: String,
    }

    /// Files outside the fence.
    Files {
        /// Their paths within the workspace.
        files: Vec<String>,
        /// Where the change that was taken back is kept.
        patch: Option<String>,
    }

    /// A setting that cannot work.
    Config {
        /// The file, where it came from one.
        path: Option<String>,
        /// The field.
        field: Option<String>,
        /// The environment variable, where one is meant.
        variable: Option<String>,
        /// The line, counted from 1.
        line: Option<u32>,
        /// The column, counted from 1.
        column: Option<u32>,
    }

    /// A git operation that failed.
    GitOperation {
        /// The operation (`status`, `commit`, `push`, `revert`).
        operation: String,
        /// Git's exit status.
        exit: Option<i32>,
        /// The branch or commit it was about.
        reference: Option<String>,
        /// The remote that it was to reach.
        #[serde(skip_serializing_if = "Option::is_none")]
        remote: Option<String>,
    }

    /// Something that is not allowed.
    Permission {
        /// The command or path that was refused.
        what: String,
        /// The very commands, where an agent could run them if a person allows it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        commands: Vec<String>,
        /// A command among them never runs, whoever allows it; only the settings can change that.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        never: bool,
        /// The agent that asked for it, by its provider's name, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The key of the action that it is, where it is a declared one: it cannot be undone.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        /// That action is a request, not a command.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        request: bool,
    }

    /// An account that would not let us in.
    Auth {
        /// The service or account.
        account: String,
        /// The environment variable that should hold the credential, where there is one.
        variable: Option<String>,
        /// The command that logs in, where there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        login: Option<String>,
        /// The command that it would not let in, where one was run.
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// The exit status of that command.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
    }

    /// A tool that failed, seen through its exit status and output.
    Tool {
        /// The command, where it is known.
        command: Option<String>,
        /// Its exit status, where it had one.
        exit: Option<i32>,
        /// The host it talked to, where it named one.
        host: Option<String>,
    }

    /// Something that has to exist and does not.
    Missing {
        /// What is missing (a table, folder, branch, channel).
        what: String,
    }

    /// The agent needs a person's word.
    Input {
        /// What it asked, in its own words.
        asked: String,
        /// The choices it offered, in its own words.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    }

    /// The work itself failed.
    Logic {
        /// The command or step that failed, where there was one.
        step: Option<String>,
        /// Its exit status, where it had one.
        exit: Option<i32>,
    }

    /// An agent going in circles.
    NoProgress {
        /// The pattern that was seen.
        pattern: String,
        /// The repeated action, shortened.
        evidence: String,
    }

    /// Our own fault.
    Internal {
        /// The part of Unstuck it happened in.
        component: String,
    }
}

/// A gate of checks that a change passes on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Before a commit.
    PreCommit,
    /// Before a push.
    PrePush,
    /// Before a pull request.
    PrePr,
}

/// A limit on one run's steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Iterations of the agent's loop.
    #[default]
    Iterations,
    /// Tool calls.
    ToolCalls,
    /// Turns, counted by the agent program itself.
    Turns,
}

/// A run used up its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// Which steps.
    pub kind: LimitKind,
    /// How many were allowed.
    pub limit: u32,
}

/// What a budget covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetSpan {
    /// One task.
    #[default]
    Task,
    /// One build.
    Build,
    /// One day of the project.
    Day,
}

/// A budget that has no room for the next call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetSpent {
    /// What the budget covers.
    pub span: BudgetSpan,
    /// The unit in words (`money`, `tokens`, `time`).
    pub unit: String,
    /// The limit itself, with what a person added to it, where it is known.
    #[serde(default)]
    pub limit: Amount,
    /// What was spent of it.
    #[serde(default)]
    pub spent: Amount,
    /// What the next call may cost.
    #[serde(default)]
    pub needed: Amount,
}

impl BudgetSpent {
    /// How much a person adds who lets the work go on: the limit as it was set, and never less than
    /// the next call may cost.
    #[must_use]
    pub fn next_raise(&self, set: Amount) -> Amount {
        let lacking = self.spent.plus(self.needed).minus(self.limit);
        set.larger_of(self.needed).larger_of(lacking)
    }
}

/// An approach that already failed was tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeated {
    /// The error it failed with before, whose budget is charged, where it is known.
    pub of: Option<Signature>,
    /// Which attempt was repeated, counted from 1.
    pub attempt: u32,
}
