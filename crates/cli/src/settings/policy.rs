//! Converts the settings to the policy, the limits of the engine's decisions.

use unstuck_core::fault::Fault;
use unstuck_core::policy::{Amount, Policy};

use super::sections::{Settings, SpendingCap};

impl Settings {
    /// Returns the validated policy.
    pub(crate) fn to_policy(&self) -> Result<Policy, Box<Fault>> {
        let Self { run, retry, backoff, wait, budget, .. } = self;
        let mut policy = Policy::default();
        let limits = &mut policy.retry;
        limits.per_signature = retry.per_signature;
        limits.transient = retry.transient;
        limits.transient_for_ms = retry.transient_for.0;
        limits.consecutive = retry.consecutive;
        limits.fresh_start_at = retry.fresh_start_at;
        limits.pause_after_questions = retry.pause_after_questions;
        limits.alert_firings = retry.alert_after.firings;
        limits.alert_after_ms = retry.alert_after.time.0;
        limits.iterations = run.max_iterations;
        limits.tool_calls = run.max_tool_calls;
        policy.backoff.base_ms = backoff.base.0;
        policy.backoff.cap_ms = backoff.cap.0;
        policy.backoff.jitter_percent = backoff.jitter_percent;
        policy.wait.limited_ms = wait.limited.0;
        policy.wait.windows = wait.windows;
        policy.wait.reset_unknown_ms = wait.reset_unknown.0;
        policy.budget.per_task = budget.per_task.to_amount();
        policy.budget.per_build = budget.per_build.to_amount();
        policy.budget.per_day = budget.per_day.to_amount();
        policy.validate().map(|()| policy)
    }
}

impl SpendingCap {
    /// Converts a cap to an amount. An unset cap is no limit, which the engine represents as zero.
    pub(super) const fn to_amount(self) -> Amount {
        Amount {
            money_micros: match self.money {
                Some(money) => money.0,
                None => 0,
            },
            tokens: match self.tokens {
                Some(tokens) => tokens,
                None => 0,
            },
            time_ms: match self.time {
                Some(time) => time.0.as_millis(),
                None => 0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;

    use super::*;

    #[test]
    fn unset_settings_are_the_defaults_of_the_engine() {
        assert_eq!(Settings::default().to_policy(), Ok(Policy::default()));
    }

    #[test]
    fn limits_that_contradict_each_other_are_refused() {
        let mut settings = Settings::default();
        settings.retry.pause_after_questions = 0;
        assert_eq!(settings.to_policy().unwrap_err().code(), Code::ConfigInvalid);
    }
}
