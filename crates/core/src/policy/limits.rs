//! The limits themselves, with the defaults every project starts from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Amount, Backoff};
use crate::fault::Code;
use crate::time::{Span, Time};

/// All that can be set about decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// How often to try again.
    pub retry: Retry,
    /// How long to wait between tries.
    pub backoff: Backoff,
    /// How long to wait at a shared gate.
    pub wait: Wait,
    /// What may be spent.
    pub budget: Budget,
    /// Other limits for single codes.
    pub codes: BTreeMap<Code, CodeLimits>,
}

/// How often to try again before a person is asked. `n` re-attempts come after the first failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// Re-attempts for one error, wherever it shows up.
    pub per_signature: u32,
    /// Repetitions of one operation that fails for a passing reason.
    pub transient: u32,
    /// A task asks only when this much time has passed as well.
    pub transient_for_ms: Span,
    /// Faults in a row in one task, whatever they are.
    pub consecutive: u32,
    /// Times one conversation is shortened.
    pub compactions: u32,
    /// Repairs of one job.
    pub repairs: u32,
    /// Immediate repetitions of one git operation.
    pub git: u32,
    /// Firings of a job in a row that gave up over something passing before a person is told.
    pub alert_firings: u32,
    /// A person is told when a job has been failing like that for this long, however often it fired.
    pub alert_after_ms: Span,
    /// Crashes in a row after which a person is asked.
    pub crashes: u32,
    /// From which failure of an error on the work starts over from its base.
    pub fresh_start_at: u32,
    /// Open questions of one build at which it pauses.
    pub pause_after_questions: u32,
    /// Iterations of one run.
    pub iterations: u32,
    /// Tool calls of one run.
    pub tool_calls: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            per_signature: 3,
            transient: 5,
            transient_for_ms: Span::from_mins(30),
            consecutive: 10,
            compactions: 2,
            repairs: 3,
            git: 1,
            alert_firings: 3,
            alert_after_ms: Span::from_hours(24),
            crashes: 3,
            fresh_start_at: 2,
            pause_after_questions: 5,
            iterations: 50,
            tool_calls: 150,
        }
    }
}

/// How long to wait at a gate before a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wait {
    /// For rate limits and overload, from the first one to a successful call.
    pub limited_ms: Span,
    /// Grace after a usage window's stated end.
    pub reset_grace_ms: Span,
    /// Usage windows in a row.
    pub windows: u32,
    /// How often to look when a usage window's end is not known.
    pub reset_unknown_ms: Span,
    /// The pause between one group of released tasks and the next, which is twice as large.
    pub release_every_ms: Span,
    /// Whether a tool's used-up allowance is waited out instead of asked about.
    pub tool_quota_waits: bool,
}

impl Default for Wait {
    fn default() -> Self {
        Self {
            limited_ms: Span::from_hours(2),
            reset_grace_ms: Span::from_mins(10),
            windows: 3,
            reset_unknown_ms: Span::from_mins(30),
            release_every_ms: Span::from_millis(500),
            tool_quota_waits: false,
        }
    }
}

/// What may be spent. A zero means "no cap".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// By one task.
    pub per_task: Amount,
    /// By one build.
    pub per_build: Amount,
    /// By the project in one day.
    pub per_day: Amount,
    /// From which share of a cap on an agent is told to finish.
    pub wind_down_percent: u64,
    /// When the project's day begins, after midnight UTC.
    pub day_starts_ms: Span,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            per_task: Amount::ZERO,
            per_build: Amount::ZERO,
            per_day: Amount::ZERO,
            wind_down_percent: 90,
            day_starts_ms: Span::ZERO,
        }
    }
}

impl Budget {
    /// The number of the project's day that `now` lies in.
    pub fn day_number(&self, now: Time) -> u64 {
        (now - self.day_starts_ms).as_millis() / Span::from_hours(24).as_millis()
    }
}

/// Other limits for one code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CodeLimits {
    /// Re-attempts for one error of this code.
    pub per_signature: Option<u32>,
    /// Repetitions of one operation that fails with this code.
    pub transient: Option<u32>,
}

/// Other limits for one task. A limit of the task wins over one of the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// Re-attempts for one error.
    pub per_signature: Option<u32>,
    /// Repetitions of one operation that fails for a passing reason.
    pub transient: Option<u32>,
    /// Faults in a row.
    pub consecutive: Option<u32>,
    /// Repairs of the job.
    pub repairs: Option<u32>,
    /// Firings of the job that gave up before a person is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert_firings: Option<u32>,
    /// How long the job may have been failing before a person is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert_after_ms: Option<Span>,
    /// Iterations of one run.
    pub iterations: Option<u32>,
    /// Tool calls of one run.
    pub tool_calls: Option<u32>,
    /// What the task may spend.
    pub budget: Option<Amount>,
    /// What its build may spend; all tasks of a build say the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_budget: Option<Amount>,
}

/// The limits that hold for one fault of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Re-attempts for one error.
    pub per_signature: u32,
    /// Repetitions of one operation.
    pub transient: u32,
    /// Faults in a row.
    pub consecutive: u32,
    /// Repairs of the job.
    pub repairs: u32,
}

impl Policy {
    /// The limits for a fault with `code` in a task with `overrides`.
    pub fn limits(&self, code: Code, overrides: &Overrides) -> Limits {
        let by_code = self.codes.get(&code).copied().unwrap_or_default();
        let pick = |task: Option<u32>, code: Option<u32>, project| task.or(code).unwrap_or(project);
        Limits {
            per_signature: pick(
                overrides.per_signature,
                by_code.per_signature,
                self.retry.per_signature,
            ),
            transient: pick(overrides.transient, by_code.transient, self.retry.transient),
            consecutive: pick(overrides.consecutive, None, self.retry.consecutive),
            repairs: pick(overrides.repairs, None, self.retry.repairs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_when_the_budget_does() {
        let budget = Budget { day_starts_ms: Span::from_hours(6), ..Budget::default() };
        let day = |number: u64| Time::EPOCH + Span::from_hours(24).times(number);
        assert_eq!(budget.day_number(day(10) + Span::from_hours(6)), 10);
        assert_eq!(budget.day_number(day(10) + Span::from_hours(5)), 9);
    }
}
