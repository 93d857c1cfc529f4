//! The difference between two cumulative reports of usage.

use crate::agent::Usage;

/// Returns the tokens of `total` minus those of `before`, without a cost.
pub(in crate::provider) const fn subtract_usage(total: Usage, before: Usage) -> Usage {
    Usage {
        input_tokens: total.input_tokens.saturating_sub(before.input_tokens),
        output_tokens: total.output_tokens.saturating_sub(before.output_tokens),
        cached_tokens: total.cached_tokens.saturating_sub(before.cached_tokens),
        cache_written_tokens: total
            .cache_written_tokens
            .saturating_sub(before.cache_written_tokens),
        money_micros: None,
        unmeasured_calls: 0,
    }
}
