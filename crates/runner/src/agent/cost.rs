//! The maximum cost of a model call before it is made, and its cost afterwards.

use unstuck_core::policy::Amount;
use unstuck_world::agent::Usage;
use unstuck_world::model::ToolSpec;

use super::agent_loop::ModelCallLimits;
use super::memory::AttemptMemory;
use super::prompt;

/// The usage of the last call, as a measure of the conversation's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeasuredUsage {
    /// Tokens that the call read and wrote.
    tokens: u64,
    /// Length of the conversation at the time of the call, in bytes.
    bytes: u64,
}

impl MeasuredUsage {
    pub(super) fn from_usage(usage: &Usage, memory: &AttemptMemory) -> Self {
        Self { tokens: usage.total_tokens(), bytes: memory.count_bytes() }
    }
}

/// Returns the maximum cost of the next call. A token is at least one byte; for the part of the
/// conversation that the last call has read, its measured tokens are used instead.
pub(super) fn estimate_max_cost(
    memory: &AttemptMemory,
    specs: &[ToolSpec],
    settings: &ModelCallLimits,
    measured: Option<MeasuredUsage>,
) -> Amount {
    let bytes = memory.count_bytes();
    let input = match measured {
        Some(known) if known.tokens > 0 && known.bytes <= bytes => {
            known.tokens.saturating_add(bytes - known.bytes)
        }
        _ => bytes + count_request_overhead(specs),
    };
    let output = u64::from(settings.output_tokens_max);
    let money_micros = settings.price.map_or(0, |price| {
        let plain = Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
        let cached =
            Usage { cache_written_tokens: input, output_tokens: output, ..Usage::default() };
        price.compute_cost(&plain).max(price.compute_cost(&cached))
    });
    let time_ms = settings.call_time_max.as_millis();
    Amount { money_micros, tokens: input.saturating_add(output), time_ms }
}

/// Returns the length in bytes of the request apart from the conversation.
fn count_request_overhead(specs: &[ToolSpec]) -> u64 {
    let of = |spec: &ToolSpec| spec.description.len() + spec.input.to_string().len();
    let bytes: usize = specs.iter().map(of).sum();
    (bytes + prompt::SYSTEM.len()) as u64
}

/// Returns the cost of a call. A successful call without measured usage is not free: it counts with
/// its maximum cost.
pub(super) fn compute_call_cost(usage: &Usage, most: Option<Amount>) -> Amount {
    let most = most.unwrap_or(Amount::ZERO);
    let unmeasured = usage.total_tokens() == 0;
    Amount {
        money_micros: usage.money_micros.unwrap_or(most.money_micros),
        tokens: if unmeasured { most.tokens } else { usage.total_tokens() },
        time_ms: 0,
    }
}
