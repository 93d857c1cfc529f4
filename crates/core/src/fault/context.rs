//! The typed context of each fault: the facts its detector knew, together with the code as [`Kind`].
//!
//! A context holds facts only. Times to wait (`retry_after`, `resets_at`) are fields of the fault itself,
//! because any server may state them.

use serde::{Deserialize, Serialize};

use crate::amount::Amount;
use crate::code::{Code, with_fault_table};
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
    /// A process that ended unexpectedly.
    Crash {
        /// Exit code, if the process exited.
        exit: Option<i32>,
        /// The signal that ended the process, if any.
        signal: Option<i32>,
    }

    /// A failed HTTP exchange with a provider.
    Http {
        /// HTTP status, if there was a response.
        status: Option<u16>,
        /// The error type that the server named in its response.
        error_type: Option<String>,
        /// The server's request id, for its support.
        request_id: Option<String>,
    }

    /// A request by a server to slow down.
    RateLimit {
        /// HTTP status, if there was a response.
        status: Option<u16>,
        /// The limited resource as the server names it (requests, tokens, a plan's window).
        limited: Option<String>,
    }

    /// The model or the agent program itself.
    Provider {
        /// The provider's name (`claude-cli`, `anthropic-api`).
        name: String,
        /// The requested model, if one was named.
        model: Option<String>,
    }

    /// A deadline that passed.
    Timeout {
        /// The operation that had the deadline.
        operation: String,
        /// The deadline, in milliseconds.
        limit_ms: u64,
    }

    /// A check that Unstuck ran and that was red.
    Validation {
        /// The command that was run.
        command: String,
        /// Exit code of the check, if it exited.
        exit: Option<i32>,
        /// The meaningful tail of the output, redacted.
        output: String,
    }

    /// Changed files outside the allowed ones.
    Files {
        /// Paths within the workspace.
        files: Vec<String>,
        /// The path of the patch that keeps the reverted change.
        patch: Option<String>,
    }

    /// A setting that cannot work.
    Config {
        /// The settings file, if the setting came from one.
        path: Option<String>,
        /// The name of the field.
        field: Option<String>,
        /// The environment variable, if the setting refers to one.
        variable: Option<String>,
        /// Line number, counted from 1.
        line: Option<u32>,
        /// Column number, counted from 1.
        column: Option<u32>,
    }

    /// A git operation that failed.
    GitOperation {
        /// The operation (`status`, `commit`, `push`, `revert`).
        operation: String,
        /// Exit code of git.
        exit: Option<i32>,
        /// The branch or commit concerned.
        reference: Option<String>,
        /// The remote that git was to reach.
        #[serde(skip_serializing_if = "Option::is_none")]
        remote: Option<String>,
    }

    /// A refused action.
    Permission {
        /// The command or path that was refused.
        what: String,
        /// The exact commands, if an agent could run them once a person allows it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        commands: Vec<String>,
        /// `true` if one of the commands never runs, even with a person's permission; only the settings can
        /// change that.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        never: bool,
        /// `true` if the settings block one of the commands by name.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        blocked: bool,
        /// `true` if one of the commands reaches outside and cannot be undone.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        irreversible: bool,
        /// The provider's name of the agent that asked, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The key of the declared action, if it is one: a declared action cannot be undone.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        /// `true` if that action is a request rather than a command.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        request: bool,
        /// The check that fails without the refused change, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        check: Option<Validation>,
    }

    /// An account that refused the login.
    Auth {
        /// The service or account.
        account: String,
        /// The environment variable that should hold the credential, if there is one.
        variable: Option<String>,
        /// The command that logs in, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        login: Option<String>,
        /// The command whose login was refused, if one was run.
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// Exit code of that command.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
    }

    /// A tool that failed, known by its exit code and output.
    Tool {
        /// The command, if known.
        command: Option<String>,
        /// Exit code, if the tool exited.
        exit: Option<i32>,
        /// The host it talked to, if it named one.
        host: Option<String>,
        /// The certificate of that host, if it has expired.
        #[serde(skip_serializing_if = "Option::is_none")]
        expired_certificate: Option<ExpiredCertificate>,
    }

    /// An expired certificate of a server.
    ExpiredCertificate {
        /// The time of its expiry as the tool writes it, if it does.
        at: Option<String>,
    }

    /// A missing prerequisite.
    Missing {
        /// The missing thing (a table, folder, branch, channel).
        what: String,
    }

    /// A question of the agent to a person.
    Input {
        /// The question in the agent's own words.
        asked: String,
        /// The choices it offered, in the agent's own words.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    }

    /// A failure of the work itself.
    Logic {
        /// The command or step that failed, if there was one.
        step: Option<String>,
        /// Exit code, if there was one.
        exit: Option<i32>,
        /// The phase in which the step is not allowed, if that is the failure.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    }

    /// An agent going in circles.
    NoProgress {
        /// The detected pattern.
        pattern: String,
        /// The repeated action, shortened.
        evidence: String,
    }

    /// A bug in Unstuck.
    Internal {
        /// The component of Unstuck in which it happened.
        component: String,
    }
}

/// The stage at which checks run on a change before it leaves the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Gate"))]
#[serde(rename_all = "snake_case")]
pub enum CheckStage {
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
    /// Turns, as counted by the agent program itself.
    Turns,
}

/// A step limit that a run reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// The kind of steps.
    pub kind: LimitKind,
    /// The number of steps allowed.
    pub limit: u32,
}

/// The span of work that a budget covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetSpan {
    /// A single task.
    #[default]
    Task,
    /// A single build.
    Build,
    /// A day of the project.
    Day,
}

/// A budget that has no room for the next call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetSpent {
    /// The span that the budget covers.
    pub span: BudgetSpan,
    /// The unit by name (`money`, `tokens`, `time`).
    pub unit: String,
    /// The limit including what a person added to it, if known.
    #[serde(default)]
    pub limit: Amount,
    /// The amount spent of the limit.
    #[serde(default)]
    pub spent: Amount,
    /// The amount that the next call may cost.
    #[serde(default)]
    pub needed: Amount,
}

impl BudgetSpent {
    /// Returns how much to add when a person lets the work continue: the limit as it was set, and never less
    /// than the next call may cost. What is spent beyond the limit comes on top, so that the whole amount can
    /// be spent.
    #[must_use]
    pub fn next_raise(&self, set: Amount) -> Amount {
        let more = set.max_per_unit(self.needed);
        more.saturating_add(self.spent.saturating_sub(self.limit))
    }
}

/// A failed approach that was tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeated {
    /// The signature of the error it failed with before, whose budget is charged, if known.
    pub of: Option<Signature>,
    /// The number of the repeated attempt, counted from 1.
    pub attempt: u32,
}

/// The end of a command that failed, for a fault whose context has no field for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommandEnd {
    /// The command line, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Exit code, if the command exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The last lines of the output, if the message of the fault does not have them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+
        $constructor:ident $variant:ident($context:ident) $tag:literal:
        $($column:ident)+ [$($charge:ident)*] $asks:ident;)+) => {
        /// A failure with the context that belongs to its code.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "code", content = "context")]
        pub enum Kind { $($(#[doc = $doc])+ #[serde(rename = $tag)] $variant($context),)+ }

        impl Kind {
            /// Creates a failure of which only the code is known, as when a script states it.
            pub fn bare(code: Code) -> Self {
                match code { $(Code::$variant => Self::$variant(<$context>::default()),)+ }
            }

            /// Returns the command and its exit code, as far as the context names them.
            pub fn command_end(&self) -> CommandEnd {
                let (command, exit) = match self {
                    Self::EnvConnection(of)
                    | Self::EnvTimeout(of)
                    | Self::EnvDns(of)
                    | Self::EnvUnavailable(of)
                    | Self::EnvRegistry(of)
                    | Self::EnvDiskFull(of)
                    | Self::ToolRateLimit(of)
                    | Self::ToolAccessDenied(of)
                    | Self::ToolQuota(of)
                    | Self::ToolMissing(of)
                    | Self::ToolConfig(of) => (of.command.as_ref(), of.exit),
                    Self::AuthInvalid(of) | Self::AuthExpired(of) | Self::AuthMissing(of) => {
                        (of.command.as_ref(), of.exit)
                    }
                    Self::LogicError(of) | Self::LogicBadInput(of) => (of.step.as_ref(), of.exit),
                    Self::OperationTimeout(of) if !of.operation.is_empty() => {
                        (Some(&of.operation), None)
                    }
                    Self::ToolCrash(of) => (None, of.exit),
                    Self::GitLocked(of) | Self::GitConflict(of) => (None, of.exit),
                    _ => (None, None),
                };
                CommandEnd { command: command.cloned(), exit, output: String::new() }
            }

            /// Returns the code without the context.
            pub const fn code(&self) -> Code {
                match self { $(Self::$variant(_) => Code::$variant,)+ }
            }
        }
    };
}

with_fault_table!(kinds);
