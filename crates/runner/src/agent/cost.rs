//! The maximum cost of a model call before it is made, and its cost afterwards.

use unstuck_core::policy::Amount;
use unstuck_world::agent::Usage;
use unstuck_world::model::ToolSpec;

use super::agent_loop::Settings;
use super::memory::Memory;
use super::prompt;

/// The usage of the last call, as a measure of the conversation's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    /// Tokens that the call read and wrote.
    tokens: u64,
    /// Length of the conversation at the time of the call, in bytes.
    bytes: u64,
}

impl Measured {
    pub(super) fn of(usage: &Usage, memory: &Memory) -> Self {
        Self { tokens: usage.tokens(), bytes: memory.bytes() }
    }
}

/// Returns the maximum cost of the next call. A token is at least one byte; for the part of the
/// conversation that the last call has read, its measured tokens are used instead.
pub(super) fn most(
    memory: &Memory,
    specs: &[ToolSpec],
    settings: &Settings,
    measured: Option<Measured>,
) -> Amount {
    let bytes = memory.bytes();
    let input = match measured {
        Some(known) if known.tokens > 0 && known.bytes <= bytes => {
            known.tokens.saturating_add(bytes - known.bytes)
        }
        _ => bytes + told(specs),
    };
    let output = u64::from(settings.output_tokens_max);
    let money_micros = settings.price.map_or(0, |price| {
        let plain = Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
        let cached =
            Usage { cache_written_tokens: input, output_tokens: output, ..Usage::default() };
        price.of(&plain).max(price.of(&cached))
    });
    let time_ms = settings.call_time_max.as_millis();
    Amount { money_micros, tokens: input.saturating_add(output), time_ms }
}

/// Returns the length in bytes of the request apart from the conversation.
fn told(specs: &[ToolSpec]) -> u64 {
    let of = |spec: &ToolSpec| spec.description.len() + spec.input.to_string().len();
    let bytes: usize = specs.iter().map(of).sum();
    (bytes + prompt::SYSTEM.len()) as u64
}

/// Returns the cost of a call. A successful call without measured usage is not free: it counts with
/// its maximum cost.
pub(super) fn spent(usage: &Usage, most: Option<Amount>) -> Amount {
    let most = most.unwrap_or(Amount::ZERO);
    let unmeasured = usage.tokens() == 0;
    Amount {
        money_micros: usage.money_micros.unwrap_or(most.money_micros),
        tokens: if unmeasured { most.tokens } else { usage.tokens() },
        time_ms: 0,
    }
}
