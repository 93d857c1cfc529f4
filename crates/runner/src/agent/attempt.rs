//! The state of an attempt in progress, its end, and the cost of its model calls.

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::ProgressReport;
use unstuck_core::fault::Fault;
use unstuck_core::policy::Amount;
use unstuck_core::time::Time;
use unstuck_world::agent::Usage;
use unstuck_world::model::{Model, ToolSpec};
use unstuck_world::provider::prices::Price;
use unstuck_world::redact::Redactor;
use unstuck_world::tool::Toolbox;
use unstuck_world::workspace::Workspace;

use super::memory::AttemptMemory;
use super::prompt;
use super::reporter::{AttemptAbort, AttemptReporter};

/// The limits of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelCallLimits {
    /// Maximum number of output tokens.
    pub output_tokens_max: u32,
    /// The price of the model, if known.
    pub price: Option<Price>,
}

/// The way an attempt ended.
#[derive(Debug)]
pub enum AgentLoopEnd {
    /// The model says that it is done.
    Done {
        /// The model's own summary of its work.
        summary: String,
    },
    /// The attempt cannot continue.
    Failed(Box<Fault>),
    /// The attempt was stopped, or the engine has ended the run: there is nothing to report.
    Stopped,
}

impl From<AttemptAbort> for AgentLoopEnd {
    fn from(over: AttemptAbort) -> Self {
        match over {
            AttemptAbort::Run => Self::Stopped,
            AttemptAbort::Failed(fault) => Self::Failed(fault),
        }
    }
}

/// The state of an attempt in progress.
pub(super) struct AgentLoopState<'a> {
    pub(super) reporter: AttemptReporter<'a>,
    pub(super) tools: &'a Toolbox,
    pub(super) workspace: &'a Workspace,
    pub(super) redactor: &'a Redactor,
    pub(super) stop: &'a CancellationToken,
    pub(super) memory: AttemptMemory,
    pub(super) model: &'a dyn Model,
    pub(super) settings: ModelCallLimits,
    pub(super) specs: Vec<ToolSpec>,
    /// The amount spent and not yet reported.
    pub(super) spent: Amount,
    /// The token usage of the last call, and the length of the conversation at that time.
    pub(super) measured: Option<MeasuredUsage>,
}

impl AgentLoopState<'_> {
    /// Writes the conversation and the amount spent so far to disk.
    pub(super) async fn record_checkpoint(
        &mut self,
        report: ProgressReport,
    ) -> Result<(), AttemptAbort> {
        let spent = std::mem::replace(&mut self.spent, Amount::ZERO);
        let report = ProgressReport { spent, ..report };
        let conversation = self.memory.to_checkpoint().map_err(AttemptAbort::Failed)?;
        self.reporter.record_checkpoint(report, conversation).await
    }

    /// Adds the time since `began` to the amount spent. Waits are not counted.
    pub(super) fn count_time_since(&mut self, began: Time) {
        let time_ms = self.reporter.clock.now().since(began).as_millis();
        self.spent = self.spent.saturating_add(Amount { time_ms, ..Amount::ZERO });
    }
}

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
    // The attempt is ended when the working time is spent, so that a call needs none in advance.
    Amount { money_micros, tokens: input.saturating_add(output), time_ms: 0 }
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
