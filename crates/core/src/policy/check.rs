//! Validation of a policy.

use super::{Amount, Policy};
use crate::fault::{Config, Fault};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Code, Kind};
    use crate::time::Span;

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
}
