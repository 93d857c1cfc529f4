//! Responses to requests.

use unstuck_core::engine::Rejected;

use super::wire::{Refusal, Say};
use crate::handle::{CommandError, Decided};

/// Returns the response for a decision.
pub(super) fn said(id: u64, decided: Result<Decided, CommandError>) -> Say {
    match decided {
        Ok(Decided { events }) => {
            let events = events.iter().map(|recorded| (**recorded).clone()).collect();
            Say::Done { id, events, holder: None, effect: None }
        }
        Err(error) => refused_by(id, &error),
    }
}

pub(super) const fn done(id: u64) -> Say {
    Say::Done { id, events: Vec::new(), holder: None, effect: None }
}

pub(super) fn refused(id: u64, why: Refusal, message: &dyn std::fmt::Display) -> Say {
    let code = why.code();
    let message = message.to_string();
    Say::Refused { id, why, code: Some(code), category: Some(code.row().category), message }
}

pub(super) fn refused_by(id: u64, error: &CommandError) -> Say {
    let why = match error {
        CommandError::Rejected(Rejected::Stale(_)) => Refusal::Stale,
        CommandError::Rejected(Rejected::KeyReused(_)) => Refusal::KeyReused,
        CommandError::Rejected(Rejected::RequestReused(_)) => Refusal::RequestReused,
        CommandError::Rejected(_) => Refusal::Rejected,
        CommandError::Store(_) => Refusal::Store,
        CommandError::Ended => Refusal::Ended,
    };
    refused(id, why, error)
}
