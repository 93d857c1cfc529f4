//! Policy: all limits of the engine, as data.
//!
//! A policy is read once, checked once and passed to each decision. It contains no clock, file or environment
//! variable.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::amount::Amount;
use crate::chance::Rng;
use crate::code::Code;
use crate::fault::{Config, Fault};
use crate::time::{Span, Time};

/// All settings of decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Retry limits.
    pub retry: RetryLimits,
    /// Waits between retries.
    pub backoff: Backoff,
    /// Waits at a shared gate.
    pub wait: WaitLimits,
    /// Spending limits.
    pub budget: BudgetLimits,
    /// Limits that differ for single codes.
    pub codes: BTreeMap<Code, CodeLimits>,
}

/// Number of retries before a person is asked. `n` retries come after the first failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryLimits {
    /// Retries for an error, anywhere in the project.
    pub per_signature: u32,
    /// Repetitions of an operation that fails for a transient reason.
    pub transient: u32,
    /// Minimum time that must have passed as well before a task asks.
    pub transient_for_ms: Span,
    /// Consecutive faults in a task, of any code.
    pub consecutive: u32,
    /// Compactions of a conversation.
    pub compactions: u32,
    /// Repairs of a job.
    pub repairs: u32,
    /// Immediate repetitions of a git operation.
    pub git: u32,
    /// Consecutive firings of a job that gave up over a transient failure before a person is notified.
    pub alert_firings: u32,
    /// Time that a job may fail like that before a person is notified, however often it fired.
    pub alert_after_ms: Span,
    /// Consecutive crashes after which a person is asked.
    pub crashes: u32,
    /// The failure of an error from which on the work starts over from its base.
    pub fresh_start_at: u32,
    /// Open questions of a build at which it pauses.
    pub pause_after_questions: u32,
    /// Iterations of a run.
    pub iterations: u32,
    /// Tool calls of a run.
    pub tool_calls: u32,
}

impl Default for RetryLimits {
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

/// Waits at a gate before a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WaitLimits {
    /// Maximum wait for rate limits and overload, from the first one to a successful call.
    pub limited_ms: Span,
    /// Grace period after the stated end of a usage window.
    pub reset_grace_ms: Span,
    /// Maximum number of consecutive usage windows.
    pub windows: u32,
    /// Probe interval while the end of a usage window is not known.
    pub reset_unknown_ms: Span,
    /// The delay between one group of released tasks and the next, which is twice as large.
    pub release_every_ms: Span,
    /// `true` to wait for a tool's exhausted quota to reset instead of asking.
    pub tool_quota_waits: bool,
}

impl Default for WaitLimits {
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

/// Spending limits. Zero means "no cap".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetLimits {
    /// Limit of a task.
    pub per_task: Amount,
    /// Limit of a build.
    pub per_build: Amount,
    /// Limit of the project per day.
    pub per_day: Amount,
    /// Share of a cap from which on an agent is told to finish.
    pub wind_down_percent: u64,
    /// Start of the project's day, after midnight UTC.
    pub day_starts_ms: Span,
}

impl Default for BudgetLimits {
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

impl BudgetLimits {
    /// Returns the number of the project's day that contains `now`.
    pub fn day_number(&self, now: Time) -> u64 {
        (now - self.day_starts_ms).as_millis() / Span::from_hours(24).as_millis()
    }
}

/// Limits that differ for a code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CodeLimits {
    /// Retries for an error of this code.
    pub per_signature: Option<u32>,
    /// Repetitions of an operation that fails with this code.
    pub transient: Option<u32>,
}

/// Limits that differ for a task. A limit of the task takes precedence over one of the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// Retries for an error.
    pub per_signature: Option<u32>,
    /// Repetitions of an operation that fails for a transient reason.
    pub transient: Option<u32>,
    /// Consecutive faults.
    pub consecutive: Option<u32>,
    /// Repairs of the job.
    pub repairs: Option<u32>,
    /// Firings of the job that gave up before a person is notified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert_firings: Option<u32>,
    /// Time that the job may fail before a person is notified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert_after_ms: Option<Span>,
    /// Iterations of a run.
    pub iterations: Option<u32>,
    /// Tool calls of a run.
    pub tool_calls: Option<u32>,
    /// Spending limit of the task.
    pub budget: Option<Amount>,
    /// Spending limit of its build; equal for all tasks of a build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_budget: Option<Amount>,
}

/// The effective limits for a fault of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultLimits {
    /// Retries for an error.
    pub per_signature: u32,
    /// Repetitions of an operation.
    pub transient: u32,
    /// Consecutive faults.
    pub consecutive: u32,
    /// Repairs of the job.
    pub repairs: u32,
}

impl Policy {
    /// Returns the limits for a fault with `code` in a task with `overrides`.
    pub fn limits_for(&self, code: Code, overrides: &Overrides) -> FaultLimits {
        let by_code = self.codes.get(&code).copied().unwrap_or_default();
        let pick = |task: Option<u32>, code: Option<u32>, project| task.or(code).unwrap_or(project);
        FaultLimits {
            per_signature: pick(
                overrides.per_signature, by_code.per_signature, self.retry.per_signature,
            ),
            transient: pick(overrides.transient, by_code.transient, self.retry.transient),
            consecutive: pick(overrides.consecutive, None, self.retry.consecutive),
            repairs: pick(overrides.repairs, None, self.retry.repairs),
        }
    }
}

/// Maximum number of retries in any field: more is a mistyped number, and counters stay small.
const TRIES_MAX: u32 = 1_000;

impl Policy {
    /// Rejects a policy that contradicts itself, naming the field.
    pub fn validate(&self) -> Result<(), Box<Fault>> {
        let retry = &self.retry;
        let tries = [
            ("retry.per_signature", retry.per_signature),
            ("retry.transient", retry.transient),
            ("retry.consecutive", retry.consecutive),
            ("retry.compactions", retry.compactions),
            ("retry.repairs", retry.repairs),
            ("retry.git", retry.git),
            ("retry.alert_after", retry.alert_firings),
        ];
        for (field, value) in tries {
            require(value <= TRIES_MAX, field, || format!("{value} is more than {TRIES_MAX}"))?;
        }
        let counts = [
            ("retry.consecutive", retry.consecutive),
            ("retry.crashes", retry.crashes),
            ("retry.alert_after", retry.alert_firings),
            ("retry.fresh_start_at", retry.fresh_start_at),
            ("retry.pause_after_questions", retry.pause_after_questions),
            ("retry.iterations", retry.iterations),
            ("retry.tool_calls", retry.tool_calls),
            ("wait.windows", self.wait.windows),
        ];
        for (field, value) in counts {
            require(value > 0, field, || "0 would stop everything before it starts".to_owned())?;
        }
        self.check_waits()?;
        self.check_budgets()
    }

    fn check_waits(&self) -> Result<(), Box<Fault>> {
        let backoff = &self.backoff;
        require(backoff.base_ms.as_millis() > 0, "backoff.base_ms", || {
            "0 would repeat without a pause".to_owned()
        })?;
        require(backoff.base_ms <= backoff.cap_ms, "backoff.cap_ms", || {
            format!("{} is shorter than the first wait of {}", backoff.cap_ms, backoff.base_ms)
        })?;
        for (field, percent) in [
            ("backoff.jitter_percent", backoff.jitter_percent),
            ("backoff.server_jitter_percent", backoff.server_jitter_percent),
        ] {
            require(percent <= 100, field, || format!("{percent} is more than 100"))?;
        }
        for (field, span) in [
            ("wait.limited_ms", self.wait.limited_ms),
            ("wait.reset_unknown_ms", self.wait.reset_unknown_ms),
            ("wait.release_every_ms", self.wait.release_every_ms),
        ] {
            require(span.as_millis() > 0, field, || "0 is no wait at all".to_owned())?;
        }
        Ok(())
    }

    fn check_budgets(&self) -> Result<(), Box<Fault>> {
        let budget = &self.budget;
        require((1..=100).contains(&budget.wind_down_percent), "budget.wind_down_percent", || {
            format!("{} is not between 1 and 100", budget.wind_down_percent)
        })?;
        require(budget.day_starts_ms.as_millis() < 86_400_000, "budget.day_starts_ms", || {
            "a day starts within 24 hours after midnight".to_owned()
        })?;
        require_within("budget.per_task", budget.per_task, "per build", budget.per_build)?;
        require_within("budget.per_task", budget.per_task, "per day", budget.per_day)
    }
}

/// Requires a smaller budget to fit into a larger one; otherwise it could never be used up.
fn require_within(
    field: &'static str,
    part: Amount,
    whole_name: &str,
    whole: Amount,
) -> Result<(), Box<Fault>> {
    match part.exceeded_unit(whole) {
        None => Ok(()),
        Some(unit) => {
            require(false, field, || format!("more {unit} than the budget {whole_name} allows"))
        }
    }
}

fn require(
    holds: bool,
    field: &'static str,
    problem: impl FnOnce() -> String,
) -> Result<(), Box<Fault>> {
    if holds {
        return Ok(());
    }
    let context = Config { field: Some(field.to_owned()), ..Config::default() };
    Err(Box::new(Fault::config_invalid("policy", format!("{field}: {}", problem()), context)))
}

/// Maximum jitter added to a wait the server asked for: enough to spread the requests, and little enough for
/// the time reported to a person to be the server's.
const SERVER_JITTER_MAX: Span = Span::from_mins(1);

/// A wait that doubles up to a cap, with random jitter so that many retries do not coincide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Backoff {
    /// The first wait.
    pub base_ms: Span,
    /// Maximum wait, before the jitter.
    pub cap_ms: Span,
    /// Maximum jitter in hundredths of the wait.
    pub jitter_percent: u64,
    /// Maximum jitter in hundredths of a wait the server asked for.
    pub server_jitter_percent: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base_ms: Span::from_secs(1),
            cap_ms: Span::from_mins(5),
            jitter_percent: 30,
            server_jitter_percent: 10,
        }
    }
}

impl Backoff {
    /// Returns the wait before retry `n`, counted from 0.
    pub fn jittered_wait(&self, n: u32, rng: &mut Rng) -> Span {
        let wait = self.base_wait(n);
        wait.saturating_add(rng.up_to(wait.percent(self.jitter_percent)))
    }

    /// Returns the wait for one that the server asked for; never shorter than that, and hardly longer.
    pub fn server_wait(&self, wait: Span, rng: &mut Rng) -> Span {
        let most = wait.percent(self.server_jitter_percent);
        wait.saturating_add(rng.up_to(most.min(SERVER_JITTER_MAX)))
    }

    /// Returns the time of the next retry: the server's value takes precedence over the retry count.
    pub fn next_retry_at(
        &self,
        n: u32,
        retry_after: Option<Span>,
        resets_at: Option<Time>,
        now: Time,
        rng: &mut Rng,
    ) -> Time {
        let asked = match (retry_after, resets_at) {
            (Some(wait), _) => Some(wait),
            (None, Some(at)) if at > now => Some(at.since(now)),
            (None, _) => None,
        };
        now + match asked {
            Some(wait) => self.server_wait(wait, rng),
            None => self.jittered_wait(n, rng),
        }
    }

    fn base_wait(&self, n: u32) -> Span {
        let factor = 1_u64.checked_shl(n).unwrap_or(u64::MAX);
        self.base_ms.saturating_mul(factor).min(self.cap_ms)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::*;
    use crate::fault::Kind;

    #[test]
    fn a_day_begins_when_the_budget_does() {
        let budget = BudgetLimits { day_starts_ms: Span::from_hours(6), ..BudgetLimits::default() };
        let day = |number: u64| Time::EPOCH + Span::from_hours(24).saturating_mul(number);
        assert_eq!(budget.day_number(day(10) + Span::from_hours(6)), 10);
        assert_eq!(budget.day_number(day(10) + Span::from_hours(5)), 9);
    }

    #[test]
    fn the_defaults_can_work() {
        assert_eq!(Policy::default().validate(), Ok(()));
    }

    // T4.23
    #[test]
    fn a_contradiction_is_refused_and_names_its_field() {
        type Break = fn(&mut Policy);
        let broken: [(&str, Break); 8] = [
            ("retry.per_signature", |p| p.retry.per_signature = 1_001),
            ("retry.fresh_start_at", |p| p.retry.fresh_start_at = 0),
            ("retry.pause_after_questions", |p| p.retry.pause_after_questions = 0),
            ("backoff.cap_ms", |p| p.backoff.cap_ms = Span::from_millis(1)),
            ("backoff.jitter_percent", |p| p.backoff.jitter_percent = 101),
            ("budget.wind_down_percent", |p| p.budget.wind_down_percent = 0),
            ("budget.per_task", |p| {
                p.budget.per_task.tokens = 10;
                p.budget.per_build.tokens = 9;
            }),
            ("wait.limited_ms", |p| p.wait.limited_ms = Span::ZERO),
        ];
        for (field, break_it) in broken {
            let mut policy = Policy::default();
            break_it(&mut policy);
            let fault = policy.validate().unwrap_err();
            assert_eq!(fault.code(), Code::ConfigInvalid);
            let Kind::ConfigInvalid(context) = &fault.kind else { panic!("{fault}") };
            assert_eq!(context.field.as_deref(), Some(field));
        }
    }

    #[test]
    fn a_policy_survives_being_written_down() {
        let policy = Policy::default();
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
    }

    #[test]
    fn an_unknown_field_is_refused() {
        assert!(serde_json::from_str::<Policy>(r#"{"retries": {}}"#).is_err());
    }

    proptest! {
        // T3.13
        #[test]
        fn backoff_doubles_up_to_five_minutes_with_up_to_thirty_percent_on_top(
            n in 0_u32..200,
            seed: u64,
        ) {
            let wait = Backoff::default().jittered_wait(n, &mut Rng::from_seed(seed)).as_millis();
            let plain = if n >= 9 { 300_000 } else { 1_000 << n };
            prop_assert!((plain..=plain * 13 / 10).contains(&wait), "{wait} after {n}");
        }

        // TX11
        #[test]
        fn a_servers_word_wins_and_is_never_undercut(seed: u64, n in 0_u32..20) {
            let now = Time::from_millis(7_000);
            let until = Backoff::default().next_retry_at(
                n, Some(Span::from_secs(30)), None, now, &mut Rng::from_seed(seed));
            prop_assert!((30_000..=33_000).contains(&until.since(now).as_millis()));
            let day = Span::from_hours(24);
            let until = Backoff::default().next_retry_at(n, Some(day), None, now, &mut Rng::from_seed(seed));
            let beyond = until.since(now).as_millis() - day.as_millis();
            prop_assert!(beyond <= 60_000, "{beyond}");
        }
    }
}
