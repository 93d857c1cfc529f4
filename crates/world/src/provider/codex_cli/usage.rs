//! The usage of a turn. Codex reports sums over the whole conversation, so the usage before the turn
//! is subtracted.

use super::wire::{CodexTokenUsage, CodexTokens};
use crate::agent::Usage;
use crate::provider::program::subtract_usage;

#[derive(Debug, Default)]
pub(super) struct CodexTurnUsage {
    /// The usage of the conversation before this turn.
    before: Option<Usage>,
    pub(super) used: Usage,
    /// Number of responses of the model.
    pub(super) responses: u32,
}

impl CodexTurnUsage {
    /// Handles a report that is not about this turn: it is repeated when a conversation is resumed.
    pub(super) fn set_earlier_usage(&mut self, reported: &CodexTokenUsage) {
        self.before = Some(convert_tokens(reported.total));
    }

    /// Handles a report about this turn, and returns the usage since the previous one.
    pub(super) fn add_response(&mut self, reported: &CodexTokenUsage) -> Usage {
        self.responses = self.responses.saturating_add(1);
        let total = convert_tokens(reported.total);
        let last = convert_tokens(reported.last);
        let before = *self.before.get_or_insert_with(|| subtract_usage(total, last));
        let used = subtract_usage(total, before);
        let since = subtract_usage(used, self.used);
        self.used = used;
        since
    }
}

const fn convert_tokens(tokens: CodexTokens) -> Usage {
    let cached = tokens.cached.saturating_add(tokens.cache_written);
    Usage {
        input_tokens: tokens.input.saturating_sub(cached),
        output_tokens: tokens.output,
        cached_tokens: tokens.cached,
        cache_written_tokens: tokens.cache_written,
        money_micros: None,
        unmeasured_calls: 0,
    }
}
