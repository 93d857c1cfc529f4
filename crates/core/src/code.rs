//! The codes of faults: the columns of their table, and the attributes that follow from them.

mod table;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use table::Code;
pub(crate) use table::with_fault_table;

use crate::nearest::find_nearest;

/// Declares a fieldless enum whose wire names are given beside its variants.
macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$doc])* #[serde(rename = $wire)] $variant,)+ }

        impl $name {
            /// All values, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name used on the wire and on pages.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

vocabulary! {
    /// The area a fault comes from, by which notifications are sorted.
    Category {
        /// The model or the agent program.
        Provider = "provider",
        /// A deadline that passed.
        Timeout = "timeout",
        /// A check that Unstuck ran was red.
        Validation = "validation",
        /// A change outside the task's allowed files.
        Scope = "scope",
        /// Settings that cannot work.
        Config = "config",
        /// The repository.
        Git = "git",
        /// A permission or a login that a person must give.
        Permission = "permission",
        /// A connector's network call.
        Network = "network",
        /// The machine and the tools on it.
        Environment = "environment",
        /// A failure of the work itself.
        Logic = "logic",
        /// A bug in Unstuck.
        Internal = "internal",
    }
}

vocabulary! {
    /// The kind of failure as far as the run is concerned. It alone decides the run's status.
    ErrorType {
        /// Credentials are missing, wrong or expired.
        Auth = "auth",
        /// A permission that a person must give.
        Permission = "permission",
        /// A missing prerequisite.
        Precondition = "precondition",
        /// A transient failure that passes without help.
        Network = "network",
        /// A failure that calls for another approach.
        Logic = "logic",
        /// A bug in Unstuck.
        Internal = "internal",
        /// Settings that cannot work.
        Config = "config",
    }
}

vocabulary! {
    /// The retry class: whether a retry can help, and of what kind.
    Class {
        /// A retry cannot help; a person is needed.
        NeverRetry = "never_retry",
        /// Repeating the same cannot help; another approach can.
        CodeError = "code_error",
        /// Repeating the same later can help.
        EnvError = "env_error",
    }
}

impl Class {
    /// Returns whether Unstuck retries without asking a person.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::NeverRetry => false,
            Self::CodeError | Self::EnvError => true,
        }
    }
}

vocabulary! {
    /// The kind of question a fault leads to when it comes to one.
    Asks {
        /// No question is asked.
        NoQuestion = "-",
        /// A person must act: provide a key, install a program, free disk space.
        Hands = "hands",
        /// A person's permission is needed.
        Ok = "ok",
        /// A person decides how to go on.
        Choice = "choice",
        /// A bug in Unstuck; a person may retry or skip the task.
        Ours = "ours",
        /// A limit was reached; a person may raise it.
        Paused = "paused",
        /// A person says whether a failure of the baseline belongs to the task.
        RedBase = "red_base",
    }
}

vocabulary! {
    /// A counter that a fault moves.
    Charge {
        /// Attempts on this one error, anywhere in the project.
        Signature = "signature",
        /// Repetitions of one operation along its chain of runs.
        Transient = "transient",
        /// Time spent waiting at a shared gate.
        Wait = "wait",
        /// Consecutive faults within one task, of any code.
        Consecutive = "consecutive",
        /// Compactions of a conversation.
        Compaction = "compaction",
        /// Retries of one git operation.
        Git = "git",
        /// Repairs of a job whose script actually ran.
        Repair = "repair",
    }
}

vocabulary! {
    /// The automatic reaction to a fault.
    Reaction {
        /// Repeat after a delay that grows with each retry.
        Backoff = "backoff",
        /// Like `backoff`; the second in a row closes the shared gate.
        BackoffThenGate = "backoff_then_gate",
        /// Wait at the gate that all work on the same account shares.
        Gate = "gate",
        /// Wait at the gate until the plan's usage window resets.
        GateUntilReset = "gate_until_reset",
        /// Compact the conversation and continue.
        Compact = "compact",
        /// Start over with another approach.
        Replan = "replan",
        /// Like `replan`, and tell the agent plainly that its last approach led nowhere.
        ReplanHarder = "replan_harder",
        /// Revert the change, keep it as a patch, then replan.
        TakeBackReplan = "take_back_replan",
        /// Let an agent repair the job's script.
        Repair = "repair",
        /// Revert the change and skip the task.
        TakeBackSkip = "take_back_skip",
        /// Fail immediately: the build, or the one task the fault belongs to.
        Fail = "fail",
        /// Retry once immediately, then ask a person.
        RetryOnceAsk = "retry_once_ask",
        /// Retry once immediately, then continue with a warning.
        RetryOnceWarn = "retry_once_warn",
        /// Retry once immediately; then warn while another chance remains, and ask at the end.
        RetryOnceWarnAsk = "retry_once_warn_ask",
        /// Ask a person.
        Ask = "ask",
        /// End the run, set its worktree aside, then ask.
        Quarantine = "quarantine",
        /// Sleep, or ask whether to continue, depending on which budget is spent.
        Budget = "budget",
        /// End the run and tell the operator.
        TellOperator = "tell_operator",
    }
}

vocabulary! {
    /// The two kinds of work: an agent's task, and a script that is kept alive.
    Work {
        /// A coding task for an agent.
        Task = "task",
        /// A script kept alive.
        Job = "job",
    }
}

vocabulary! {
    /// The party that raised a fault.
    Origin {
        /// Code or a command of the agent or script.
        Agent = "agent",
        /// A tool that Unstuck ran.
        Tool = "tool",
        /// The model or the agent program.
        Provider = "provider",
        /// A connector to an outside service.
        Connector = "connector",
        /// Unstuck itself.
        Host = "host",
    }
}

vocabulary! {
    /// The status of a run that was stopped by a fault.
    RunFailure {
        /// Paused; it resumes without help.
        PausedTransient = "paused:transient",
        /// Paused until a person has acted.
        PausedApproval = "paused:approval",
        /// Ended; another approach follows.
        FailedLogic = "failed:logic",
        /// Ended; its settings cannot work.
        FailedConfig = "failed:config",
        /// Ended by a bug in Unstuck.
        FailedInternal = "failed:internal",
    }
}

impl ErrorType {
    /// Returns the status that a run gets from a fault of this type.
    pub const fn run_status(self) -> RunFailure {
        match self {
            Self::Auth | Self::Permission | Self::Precondition => RunFailure::PausedApproval,
            Self::Network => RunFailure::PausedTransient,
            Self::Logic => RunFailure::FailedLogic,
            Self::Internal => RunFailure::FailedInternal,
            Self::Config => RunFailure::FailedConfig,
        }
    }
}

impl Category {
    /// Returns the party that raises faults of this category unless the detector names another.
    pub const fn usual_origin(self) -> Origin {
        match self {
            Self::Provider => Origin::Provider,
            Self::Timeout | Self::Validation | Self::Git | Self::Permission | Self::Environment => {
                Origin::Tool
            }
            Self::Scope | Self::Logic => Origin::Agent,
            Self::Network => Origin::Connector,
            Self::Config | Self::Internal => Origin::Host,
        }
    }
}

/// A row of the fault table: all attributes of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The area the fault comes from.
    pub category: Category,
    /// The kind of failure for the run.
    pub error_type: ErrorType,
    /// The retry class.
    pub class: Class,
    /// The reaction in a task; see [`Code::reaction`].
    pub reaction: Reaction,
    /// The counters charged in a task; see [`Code::charges`].
    pub charges: &'static [Charge],
    /// The kind of question the fault leads to when a person has to be asked.
    pub asks: Asks,
}

impl Code {
    /// Returns the automatic reaction to this code. Only logic faults of a job differ from the table's
    /// column: a script cannot choose another approach, so an agent repairs it.
    pub const fn reaction(self, work: Work) -> Reaction {
        match (work, self.row().reaction) {
            (Work::Job, Reaction::Replan | Reaction::ReplanHarder | Reaction::TakeBackReplan) => {
                Reaction::Repair
            }
            (_, reaction) => reaction,
        }
    }

    /// Returns the counters that this code charges.
    pub fn charges(self, work: Work) -> &'static [Charge] {
        match self.reaction(work) {
            Reaction::Repair => &[Charge::Repair],
            _ => self.row().charges,
        }
    }
}

/// A name that is not a code, with the codes it may have been meant to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a fault code")]
pub struct UnknownCode {
    /// The name as given.
    pub given: String,
    /// The nearest codes, best first; empty when none is near.
    pub nearest: Vec<Code>,
}

impl std::str::FromStr for Code {
    type Err = UnknownCode;

    fn from_str(given: &str) -> Result<Self, UnknownCode> {
        let wanted = given.trim().to_ascii_uppercase().replace('-', "_");
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == wanted)
            .ok_or_else(|| UnknownCode { given: given.to_owned(), nearest: nearest_codes(&wanted) })
    }
}

/// Returns the codes whose names are most similar to `wanted`.
fn nearest_codes(wanted: &str) -> Vec<Code> {
    let names = find_nearest(wanted, Code::ALL.iter().map(|code| code.as_str()));
    let code = |name: &str| Code::ALL.iter().copied().find(|code| code.as_str() == name);
    names.into_iter().filter_map(code).collect()
}
