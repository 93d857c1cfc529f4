//! The columns of the fault table: what can be said about a code.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Code;
use crate::nearest::nearest;

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
            /// Every value, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name on the wire and on pages.
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
    /// The part of the world a fault comes from, as a reader of a notification sorts it.
    Category {
        /// The model or the agent program.
        Provider = "provider",
        /// Something took too long.
        Timeout = "timeout",
        /// A check that Unstuck ran was red.
        Validation = "validation",
        /// A change outside the fence.
        Scope = "scope",
        /// Settings that cannot work.
        Config = "config",
        /// The repository.
        Git = "git",
        /// Somebody has to allow it or to log in.
        Permission = "permission",
        /// A connector's network call.
        Network = "network",
        /// The machine and the tools on it.
        Environment = "environment",
        /// The work itself went wrong.
        Logic = "logic",
        /// Our own fault.
        Internal = "internal",
    }
}

vocabulary! {
    /// What kind of trouble it is for the run. It alone gives the run's status.
    ErrorType {
        /// Credentials are missing, wrong or expired.
        Auth = "auth",
        /// Somebody must allow it.
        Permission = "permission",
        /// Something that has to exist does not.
        Precondition = "precondition",
        /// It passes by itself.
        Network = "network",
        /// The work must be done differently.
        Logic = "logic",
        /// Our own fault.
        Internal = "internal",
        /// Settings that cannot work.
        Config = "config",
    }
}

vocabulary! {
    /// Whether and how another try can help.
    Class {
        /// Trying again cannot help; a person is needed.
        NeverRetry = "never_retry",
        /// Trying the same again cannot help; another approach can.
        CodeError = "code_error",
        /// Trying the same again later can help.
        EnvError = "env_error",
    }
}

impl Class {
    /// Whether Unstuck tries again by itself.
    pub const fn retryable(self) -> bool {
        match self {
            Self::NeverRetry => false,
            Self::CodeError | Self::EnvError => true,
        }
    }
}

vocabulary! {
    /// The kind of question a fault leads to when it comes to one.
    Asks {
        /// Nobody is asked.
        Nobody = "-",
        /// A person's hands are needed: a key, an installation, some room.
        Hands = "hands",
        /// A person's permission is needed.
        Ok = "ok",
        /// A person decides how to go on.
        Choice = "choice",
        /// Our own fault; a person may try again or leave it.
        Ours = "ours",
        /// A limit was reached; a person may raise it.
        Paused = "paused",
        /// A person says whether a failure that was there before belongs to the work.
        RedBase = "red_base",
    }
}

vocabulary! {
    /// A counter that a fault moves.
    Charge {
        /// Tries for this one error, wherever it shows up in the project.
        Signature = "signature",
        /// Repetitions of one operation along its chain of runs.
        Transient = "transient",
        /// Time spent at a shared gate.
        Wait = "wait",
        /// Faults in a row within one task, whatever they are.
        Consecutive = "consecutive",
        /// Times a conversation was shortened.
        Compaction = "compaction",
        /// Retries of one git operation.
        Git = "git",
        /// Repairs of a job that really ran.
        Repair = "repair",
    }
}

vocabulary! {
    /// What Unstuck does about a fault by itself.
    Reaction {
        /// Wait a little, longer each time, and repeat.
        Backoff = "backoff",
        /// As `backoff`; the second in a row closes the shared gate.
        BackoffThenGate = "backoff_then_gate",
        /// Wait at the gate that all work on the same account shares.
        Gate = "gate",
        /// Wait at the gate until the plan's window opens again.
        GateUntilReset = "gate_until_reset",
        /// Shorten the conversation and go on.
        Compact = "compact",
        /// Start over with another approach.
        Replan = "replan",
        /// As `replan`, and say plainly that the last way led nowhere.
        ReplanHarder = "replan_harder",
        /// Take the change back, keep it as a patch, then replan.
        TakeBackReplan = "take_back_replan",
        /// Let an agent repair the job's script.
        Repair = "repair",
        /// Take the change back and skip the task.
        TakeBackSkip = "take_back_skip",
        /// Fail at once: the build, or the one task it belongs to.
        Fail = "fail",
        /// Repeat once at once; then ask a person.
        RetryOnceAsk = "retry_once_ask",
        /// Repeat once at once; then go on with a warning.
        RetryOnceWarn = "retry_once_warn",
        /// Repeat once at once; then warn while there is another chance, and ask at the end.
        RetryOnceWarnAsk = "retry_once_warn_ask",
        /// Ask a person.
        Ask = "ask",
        /// End the run and set its worktree aside, then ask.
        Quarantine = "quarantine",
        /// Sleep, or ask whether to go on, by the window that is spent.
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
    /// Who raised a fault.
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
    /// Why a run that met a fault stands still.
    RunFailure {
        /// Goes on by itself.
        PausedTransient = "paused:transient",
        /// Goes on when a person has acted.
        PausedApproval = "paused:approval",
        /// This run is over; another approach follows.
        FailedLogic = "failed:logic",
        /// This run is over; its settings cannot work.
        FailedConfig = "failed:config",
        /// This run is over; the fault is ours.
        FailedInternal = "failed:internal",
    }
}

impl ErrorType {
    /// The status a run gets from a fault of this type.
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
    /// Who raises faults of this category unless the detector says otherwise.
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

/// All that is decided about a code: one row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The part of the world it comes from.
    pub category: Category,
    /// What kind of trouble it is for the run.
    pub error_type: ErrorType,
    /// Whether and how another try can help.
    pub class: Class,
    /// What Unstuck does about it in a task; see [`Code::reaction`].
    pub reaction: Reaction,
    /// The counters it moves in a task; see [`Code::charges`].
    pub charges: &'static [Charge],
    /// The kind of question it leads to when it comes to one.
    pub asks: Asks,
}

impl Code {
    /// What Unstuck does about this code by itself. Only logic faults of a job differ from the
    /// table's column: a script cannot choose another approach, so an agent repairs it.
    pub const fn reaction(self, work: Work) -> Reaction {
        match (work, self.row().reaction) {
            (Work::Job, Reaction::Replan | Reaction::ReplanHarder | Reaction::TakeBackReplan) => {
                Reaction::Repair
            }
            (_, reaction) => reaction,
        }
    }

    /// The counters this code moves.
    pub fn charges(self, work: Work) -> &'static [Charge] {
        match self.reaction(work) {
            Reaction::Repair => &[Charge::Repair],
            _ => self.row().charges,
        }
    }
}

/// A name that is no code, with the names it may have been meant to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a fault code")]
pub struct UnknownCode {
    /// What was given.
    pub given: String,
    /// The nearest codes, best first; empty when nothing is near.
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
            .ok_or_else(|| UnknownCode { given: given.to_owned(), nearest: near(&wanted) })
    }
}

/// The codes whose names are most like what was given.
fn near(wanted: &str) -> Vec<Code> {
    let names = nearest(wanted, Code::ALL.iter().map(|code| code.as_str()));
    let code = |name: &str| Code::ALL.iter().copied().find(|code| code.as_str() == name);
    names.into_iter().filter_map(code).collect()
}
