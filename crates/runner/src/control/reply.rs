//! Responses to requests.

use unstuck_core::engine::CommandRejection;

use super::wire::{ControlRefusal, ControlResponse};
use crate::event_loop::{CommandError, DurableDecision};

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
