//! What goes over the socket.

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Command, Effect, EffectId, Outcome, Progress, Recorded, TaskId};
use unstuck_core::fault::{Category, Code};
use unstuck_core::plan::MutationSpec;
use unstuck_store::{CHECKPOINT_BYTES_MAX, Conversation, Holder};

use super::blame::Stated;
use crate::decider::{Look, Looked};
use crate::ledger::Settled;
use crate::world::{Order, Report, Scope};

/// The longest line that is read. An order or a result holds at most a few texts of 1 MB; a
/// conversation is JSON, which at worst gets twice as long as a text within JSON.
pub(super) const LINE_BYTES_MAX: usize = 2 * CHECKPOINT_BYTES_MAX + 1_024 * 1_024;

/// What the other process asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ask {
    /// Comes back with the reply.
    pub(super) id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub(super) what: What,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum What {
    /// Who holds the project?
    Hello {
        /// A child of a run says whose.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    /// Have this decided.
    Command {
        /// The command.
        command: Box<Command>,
    },
    /// An attempt of mine got on, and its conversation has come this far.
    Checkpoint {
        /// Which attempt.
        effect: EffectId,
        /// What it did since the last report.
        report: Progress,
        /// What was said.
        conversation: Conversation,
    },
    /// I perform this action of an attempt or execution: tell me when, and what comes of it.
    Act {
        /// By which attempt or execution.
        effect: EffectId,
        /// The action.
        mutation: Box<MutationSpec>,
    },
    /// What I was told to do about an action has ended.
    Acted {
        /// What I had asked.
        act: u64,
        /// How.
        outcome: Outcome,
    },
    /// My script fails of this, should it end without success.
    Fail(Stated),
    /// There are answers to take up.
    Answers,
    /// I perform the effects of this from now on.
    Attach {
        /// Of what.
        scope: Scope,
        /// What I am performing of it already, for a holder that is gone.
        #[serde(default)]
        performing: Vec<EffectId>,
        /// Whether I wait while somebody else performs it.
        #[serde(default)]
        waits: bool,
    },
    /// Nothing of these tasks is left running.
    Cleared {
        /// Which ones.
        tasks: Vec<TaskId>,
    },
    /// I perform nothing any more; what I was doing I have ended myself.
    Leave,
    /// An effect I was given has ended; without a report because it was stopped.
    Ended {
        /// Which one.
        effect: EffectId,
        /// How.
        report: Option<Report>,
    },
    /// Look this up.
    Look {
        /// What.
        #[serde(flatten)]
        look: Look,
    },
    /// Tell me what happens from now on.
    Watch,
}

/// What is said to the other process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Say {
    /// It was done.
    Done {
        /// What was asked.
        id: u64,
        /// What came of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        events: Vec<Recorded>,
        /// Who holds the project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<Holder>,
        /// To a child of a run that still goes on: what it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effect: Option<Effect>,
    },
    /// It was looked up.
    Seen {
        /// What was asked.
        id: u64,
        /// What was seen.
        seen: Looked,
    },
    /// Perform the action that you asked for, or look it up.
    Act {
        /// What was asked.
        act: u64,
        /// The same whenever this action is sent.
        idempotency_key: String,
        /// It is looked up, not performed.
        look_up: bool,
    },
    /// This came of an action.
    Settled {
        /// What was asked.
        id: u64,
        /// What.
        settled: Settled,
    },
    /// It was not done.
    Refused {
        /// What was asked.
        id: u64,
        /// Why.
        why: Refusal,
        /// The same as a code, for whoever sorts failures by it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
        /// Where such failures come from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        category: Option<Category>,
        /// In words.
        message: String,
    },
    /// Perform this.
    Perform(Box<Order>),
    /// The result of this is no longer wanted.
    Stop(EffectId),
    /// End whatever an earlier process may have left running for these tasks.
    Clear {
        /// Which ones.
        tasks: Vec<TaskId>,
    },
    /// This happened.
    Event {
        /// The event.
        recorded: Box<Recorded>,
        /// In one plain sentence.
        narration: Option<String>,
    },
    /// Somebody who performed a build is gone.
    Left,
    /// You were too slow and missed some: read on from the store.
    Gap,
}

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It makes no sense.
    Malformed,
    /// It is not yours to ask.
    Denied,
    /// It does not fit the state of things.
    Rejected,
    /// The key was used for something else.
    KeyReused,
    /// The request came before and said something else.
    RequestReused,
    /// Nobody waits for it any more.
    Stale,
    /// Somebody else performs it.
    Taken,
    /// It could not be remembered.
    Store,
    /// The holder is ending.
    Ended,
}

impl Refusal {
    /// What it is among failures.
    pub const fn code(self) -> Code {
        match self {
            Self::Malformed | Self::KeyReused | Self::RequestReused => Code::LogicBadInput,
            Self::Denied => Code::PermissionCommandBlocked,
            Self::Rejected | Self::Stale | Self::Taken => Code::LogicPhaseViolation,
            Self::Store => Code::InternalStore,
            Self::Ended => Code::EnvUnavailable,
        }
    }
}
