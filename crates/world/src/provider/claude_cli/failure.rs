//! Which fault a result of Claude Code is, from fields alone.

use unstuck_core::fault::{
    Auth, BudgetSpan, BudgetSpent, Crash, Fault, Http, Kind, Limit, LimitKind, Provider, RateLimit,
};
use unstuck_core::time::{Span, Time};

use super::NAME;
use super::wire::Line;
use crate::provider::http::Trouble;
use crate::provider::program::message;

/// The longest that it waits by its own choice before it tries again for the first time: half a
/// second and a quarter of that. A longer wait is what the service asked for.
const OWN_DELAY_MAX: Span = Span::from_millis(625);
/// It may try again once, and says so when it would. A limit after which it does not is one for
/// which the service asked for more than a minute; how much more, it does not say.
const GIVES_UP_ABOVE: Span = Span::from_mins(1);

/// What was said on the way that a result is judged by.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The kind of error beside the last message, where the program made that up itself.
    pub(super) error: Option<String>,
    pub(super) request: Option<String>,
    /// A plan's window that is used up: its name, and when it opens again.
    pub(super) window: Option<(Option<String>, Option<Time>)>,
}

/// What it was told not to pass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) turns_max: Option<u32>,
    /// Whether a conversation was to go on.
    pub(super) resumes: bool,
}

impl Facts {
    /// The fault of a result; none where it succeeded.
    ///
    /// A failed call of the API is a `success` with `is_error`, so the subtype alone says nothing.
    pub(super) fn failure(&self, line: &Line<'_>, limits: Limits) -> Option<Fault> {
        let kind = match (line.subtype.as_deref(), line.is_error) {
            (Some("success"), _) if line.stop_reason.as_deref() == Some("refusal") => {
                Kind::ProviderRefused(self.http(line))
            }
            // Whose last word is the program's own has not finished.
            (Some("success"), Some(false)) if self.error.is_some() => self.api_failure(line),
            (Some("success"), Some(false)) => return None,
            (Some("success"), Some(true)) => self.api_failure(line),
            (Some("error_max_turns"), _) => {
                let limit = limits.turns_max.unwrap_or_default();
                Kind::LogicLimit(Limit { kind: LimitKind::Turns, limit })
            }
            (Some("error_max_budget_usd"), _) => {
                let unit = "money".to_owned();
                Kind::BudgetExhausted(BudgetSpent {
                    span: BudgetSpan::Task,
                    unit,
                    ..BudgetSpent::default()
                })
            }
            _ => Kind::ProviderCrash(Crash::default()),
        };
        let fault = self.with_window(Fault::new(kind, NAME, message(&said(line))));
        Some(match fault.kind {
            Kind::ProviderRateLimit(_) => fault.retry_after(GIVES_UP_ABOVE),
            _ => fault,
        })
    }

    /// The fault for which it would try again by itself, after `delay`.
    pub(super) fn retried(&self, status: Option<u16>, delay: Option<Span>) -> Fault {
        let error = self.error.as_deref().unwrap_or("unknown");
        let answered = match status {
            Some(status) => format!("the service answered {status} ({error})"),
            None => format!("the service did not answer ({error})"),
        };
        let http = Http { status, error_type: self.error.clone(), request_id: None };
        let fault = self.with_window(Fault::new(self.api_kind(http, None), NAME, answered));
        match delay.filter(|delay| *delay > OWN_DELAY_MAX) {
            Some(asked) => fault.retry_after(asked),
            None => fault,
        }
    }

    fn api_failure(&self, line: &Line<'_>) -> Kind {
        self.api_kind(self.http(line), line.terminal_reason.as_deref())
    }

    /// Billing and length come before the status: theirs is a plain 400.
    fn api_kind(&self, http: Http, reason: Option<&str>) -> Kind {
        let auth = Auth { account: NAME.to_owned(), ..Auth::default() };
        let rate = RateLimit { status: http.status, limited: self.limited() };
        match (self.error.as_deref(), http.status) {
            _ if reason == Some("prompt_too_long") => Kind::ProviderContextTooLong(http),
            // Nobody was asked: there is nothing to ask with.
            (Some("authentication_failed"), None) => Kind::AuthMissing(auth),
            (Some("authentication_failed" | "oauth_org_not_allowed"), _) => Kind::AuthInvalid(auth),
            (Some("billing_error"), _) => Kind::ProviderQuota(http),
            (Some("max_output_tokens"), _) => Kind::ProviderOutputLimit(http),
            (Some("model_not_found"), _) => Kind::ProviderNotAvailable(provider()),
            (Some("rate_limit"), _) | (_, Some(429)) if self.window.is_some() => {
                Kind::ProviderUsageLimit(rate)
            }
            (Some("rate_limit"), _) => Kind::ProviderRateLimit(rate),
            (Some("overloaded"), _) => Kind::ProviderOverloaded(rate),
            (_, status @ Some(_)) | (Some("server_error" | "unknown"), status @ None) => {
                Trouble::of_status(status).kind(http, None, &provider(), None)
            }
            (Some("invalid_request"), None) => Kind::ProviderRejected(http),
            (_, None) => Kind::ProviderCrash(Crash::default()),
        }
    }

    fn http(&self, line: &Line<'_>) -> Http {
        Http {
            status: line.api_error_status,
            error_type: self.error.clone(),
            request_id: self.request.clone(),
        }
    }

    fn limited(&self) -> Option<String> {
        self.window.as_ref().and_then(|(name, _)| name.clone())
    }

    fn with_window(&self, fault: Fault) -> Fault {
        match (&fault.kind, &self.window) {
            (Kind::ProviderUsageLimit(_), Some((_, Some(resets)))) => fault.resets_at(*resets),
            _ => fault,
        }
    }
}

/// Whether a result says that there was nothing to begin with: the loop was never entered.
pub(super) fn began_nothing(line: &Line<'_>) -> bool {
    line.subtype.as_deref() == Some("error_during_execution")
        && line.num_turns == Some(0)
        && line.terminal_reason.is_none()
}

fn provider() -> Provider {
    Provider { name: NAME.to_owned(), model: None }
}

/// What the program says about it, for operators.
fn said(line: &Line<'_>) -> String {
    match &line.result {
        Some(said) => said.to_string(),
        None => line.errors.join("\n"),
    }
}
