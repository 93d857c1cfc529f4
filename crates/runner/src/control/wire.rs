//! The messages of the control socket, one JSON value per line in both directions, and the
//! responses to requests.

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;
use unstuck_core::engine::{
    Command, CommandRejection, Effect, EffectId, EffectOutcome, ProgressReport, RecordedEvent,
    TaskId,
};
use unstuck_core::fault::{Category, Code};
use unstuck_core::plan::MutationSpec;
use unstuck_store::{CHECKPOINT_BYTES_MAX, Holder, StoredConversation};

use super::script_failure::ScriptFailure;
use crate::decider::{StateQuery, StateQueryResult};
use crate::effects::{EffectRequest, EffectResult, PerformScope};
use crate::event_loop::{CommandError, DurableDecision};
use crate::ledger::ActionResult;

/// Maximum length of a line in bytes. An order or a result contains at most a few texts of 1 MB; a
/// conversation is JSON, which at worst doubles in length as a text within JSON.
pub(super) const LINE_BYTES_MAX: usize = 2 * CHECKPOINT_BYTES_MAX + 1_024 * 1_024;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ControlRequest {
    /// Repeated in the response.
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) what: ControlRequestBody,
}

/// The content of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum ControlRequestBody {
    /// Asks for the holder of the project.
    Hello {
        /// The token of a child of a run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    /// Submits a command.
    Command {
        /// The command, checked against the permissions of the process.
        command: Box<Command>,
    },
    /// Records progress of an attempt of the client's, with its conversation so far.
    Checkpoint {
        /// The attempt's effect.
        effect: EffectId,
        /// The progress since the last report.
        report: ProgressReport,
        conversation: StoredConversation,
    },
    /// Registers an action of an attempt or execution: the client performs it when told to, and is
    /// told the result.
    Act {
        /// The effect of the attempt or execution.
        effect: EffectId,
        mutation: Box<MutationSpec>,
    },
    /// Reports the end of a call or lookup that the client was told to do.
    Acted {
        /// The id of the `Act` request.
        act: u64,
        outcome: EffectOutcome,
    },
    /// States the failure of the client's script, in case it ends without success.
    Fail(ScriptFailure),
    /// Announces answers in the store.
    Answers,
    /// Attaches the client as the worker of a scope.
    Attach {
        scope: PerformScope,
        /// The effects of the scope that the client is performing already, for an earlier holder.
        #[serde(default)]
        performing: Vec<EffectId>,
        /// Set if the client waits while another worker has the scope.
        #[serde(default)]
        waits: bool,
    },
    /// Reports that no process of these tasks is running any more.
    Cleared {
        /// The tasks of the `Clear` order, in the same order.
        tasks: Vec<TaskId>,
    },
    /// Detaches the client's workers; it has ended their effects itself.
    Leave,
    /// Reports the end of an effect that the client was given.
    Ended {
        effect: EffectId,
        /// The report; `None` if the effect was stopped.
        report: Option<EffectResult>,
    },
    /// Queries the state of the project.
    Look {
        #[serde(flatten)]
        look: StateQuery,
    },
    /// Subscribes to notices from now on.
    Watch,
}

/// A message to the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ControlResponse {
    /// The response to a request that was carried out.
    Done {
        id: u64,
        /// The events that were decided.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        events: Vec<RecordedEvent>,
        /// The holder, in response to `Hello`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<Holder>,
        /// The effect that a child of a run belongs to, while the run goes on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effect: Option<Effect>,
    },
    /// The response to a query.
    Seen { id: u64, seen: StateQueryResult },
    /// The order to perform an action of the client's, or to look it up.
    Act {
        /// The id of the client's `Act` request.
        act: u64,
        /// The key that is identical whenever this action is sent.
        idempotency_key: String,
        /// Set if the action is looked up, not performed.
        look_up: bool,
    },
    /// The result of an action.
    Settled { id: u64, settled: ActionResult },
    /// The response to a request that was refused.
    Refused {
        id: u64,
        why: ControlRefusal,
        /// The error code, for clients that sort failures by code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
        /// The category of the code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        category: Option<Category>,
        /// The reason in words.
        message: String,
    },
    /// The order to perform an effect.
    Perform(Box<EffectRequest>),
    /// The order to stop an effect whose result is no longer wanted.
    Stop(EffectId),
    /// The order to end all processes that an earlier process may have left running for these
    /// tasks.
    Clear {
        /// The tasks, repeated in the `Cleared` request.
        tasks: Vec<TaskId>,
    },
    /// A notice of a durable event.
    Event {
        recorded: Box<RecordedEvent>,
        /// The event in one plain sentence.
        narration: Option<String>,
    },
    /// The notice that the worker of a build has left.
    Left,
    /// The notice that the client was too slow and missed others: it continues from the store.
    Gap,
}

/// The kind of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlRefusal {
    /// The request cannot be parsed or makes no sense.
    Malformed,
    /// The process has no permission for the request.
    Denied,
    /// The command does not fit the state of the project.
    Rejected,
    /// The idempotency key was used before, for another action.
    KeyReused,
    /// The key of the request was used before, for a request with other content.
    RequestReused,
    /// The effect is no longer awaited.
    Stale,
    /// Another worker has the scope.
    Taken,
    /// The decision could not be written to the store.
    Store,
    /// The holder is ending.
    Ended,
}

impl ControlRefusal {
    /// Returns the error code of the refusal.
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

/// Reads the next line, up to the maximum length; `None` at the end or if the line is too long.
pub(super) async fn next_line<R: tokio::io::AsyncRead + Unpin>(
    lines: &mut BufReader<R>,
) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let most = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
    let read = lines.take(most).read_until(b'\n', &mut line).await;
    (read.is_ok() && line.ends_with(b"\n")).then_some(line)
}

/// Writes messages, one per line, until all senders are dropped.
pub(super) async fn write_responses(
    mut write: OwnedWriteHalf,
    mut sayings: mpsc::Receiver<ControlResponse>,
) {
    while let Some(say) = sayings.recv().await {
        let Ok(mut line) = serde_json::to_vec(&say) else { continue };
        line.push(b'\n');
        if write.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Returns the response for a decision.
pub(super) fn decision_response(
    id: u64,
    decided: Result<DurableDecision, CommandError>,
) -> ControlResponse {
    match decided {
        Ok(DurableDecision { events }) => {
            let events = events.iter().map(|recorded| (**recorded).clone()).collect();
            ControlResponse::Done { id, events, holder: None, effect: None }
        }
        Err(error) => error_response(id, &error),
    }
}

pub(super) const fn done_response(id: u64) -> ControlResponse {
    ControlResponse::Done { id, events: Vec::new(), holder: None, effect: None }
}

pub(super) fn refusal_response(
    id: u64,
    why: ControlRefusal,
    message: &dyn std::fmt::Display,
) -> ControlResponse {
    let code = why.code();
    let message = message.to_string();
    ControlResponse::Refused {
        id,
        why,
        code: Some(code),
        category: Some(code.row().category),
        message,
    }
}

pub(super) fn error_response(id: u64, error: &CommandError) -> ControlResponse {
    let why = match error {
        CommandError::Rejected(CommandRejection::Stale(_)) => ControlRefusal::Stale,
        CommandError::Rejected(CommandRejection::KeyReused(_)) => ControlRefusal::KeyReused,
        CommandError::Rejected(CommandRejection::RequestReused(_)) => ControlRefusal::RequestReused,
        CommandError::Rejected(_) => ControlRefusal::Rejected,
        CommandError::Store(_) => ControlRefusal::Store,
        CommandError::Ended => ControlRefusal::Ended,
    };
    refusal_response(id, why, error)
}
