//! The single mapping from a service's response to a fault.
//!
//! The meaning of a status is the same for all services; a provider's own parser knows the error
//! types that say more. No code here reads a message, because messages are for people.

use unstuck_core::fault::{Auth, Crash, Fault, Http, Kind, Provider, RateLimit};
use unstuck_core::time::{Span, Time};

use super::super::sse::EventTooLarge;
use super::head::ResponseHead;

/// The class of a problem, on which all decisions are based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) enum ProblemClass {
    /// The key is rejected.
    Credentials,
    /// No credit is left.
    Quota,
    /// The model, or the service at this address, does not exist.
    NotThere,
    RateLimit,
    /// The usage limit of a plan's window is reached.
    UsageLimit,
    Overloaded,
    /// The service or the connection failed.
    Service,
    /// The conversation exceeds the context window.
    ContextTooLong,
    /// The response reached the limit of output tokens.
    OutputLimit,
    /// The model declines.
    Refused,
    /// The service rejects the request as invalid.
    Rejected,
    Unknown,
}

/// The class of a problem without a status, that is, without any response.
const NO_ANSWER: ProblemClass = ProblemClass::Service;

impl ProblemClass {
    /// Classifies a status, for errors without a more specific type.
    pub(in crate::provider) const fn from_status(status: Option<u16>) -> Self {
        let Some(status) = status else { return NO_ANSWER };
        match status {
            401 | 403 => Self::Credentials,
            402 => Self::Quota,
            404 => Self::NotThere,
            // The server timed out waiting for the request, which is temporary.
            408 => Self::Service,
            413 => Self::ContextTooLong,
            429 => Self::RateLimit,
            529 => Self::Overloaded,
            400..=499 => Self::Rejected,
            500..=599 => Self::Service,
            _ => Self::Unknown,
        }
    }

    /// Returns the kind of fault, for the provider `of` whose key is expected in `variable`.
    pub(in crate::provider) fn to_fault_kind(
        self,
        http: Http,
        limited: Option<String>,
        of: &Provider,
        variable: Option<&str>,
    ) -> Kind {
        let rate = RateLimit { status: http.status, limited };
        let variable = variable.map(ToOwned::to_owned);
        let auth = Auth { account: of.name.clone(), variable, ..Auth::default() };
        match self {
            Self::Credentials => Kind::AuthInvalid(auth),
            Self::Quota => Kind::ProviderQuota(http),
            Self::NotThere => Kind::ProviderNotAvailable(of.clone()),
            Self::RateLimit => Kind::ProviderRateLimit(rate),
            Self::UsageLimit => Kind::ProviderUsageLimit(rate),
            Self::Overloaded => Kind::ProviderOverloaded(rate),
            Self::Service => Kind::ProviderApiError(http),
            Self::ContextTooLong => Kind::ProviderContextTooLong(http),
            Self::OutputLimit => Kind::ProviderOutputLimit(http),
            Self::Refused => Kind::ProviderRefused(http),
            Self::Rejected => Kind::ProviderRejected(http),
            Self::Unknown => Kind::ProviderCrash(Crash::default()),
        }
    }
}

/// A problem as the service reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::provider) struct ProviderProblem {
    pub(in crate::provider) trouble: ProblemClass,
    /// The error type that the service reported.
    pub(in crate::provider) error_type: Option<String>,
    pub(in crate::provider) message: String,
    pub(in crate::provider) retry_after: Option<Span>,
    pub(in crate::provider) resets_at: Option<Time>,
    /// The limit that is reached, under the service's name.
    pub(in crate::provider) limited: Option<String>,
}

impl ProviderProblem {
    /// Appends the text of the model to the message.
    pub(in crate::provider) fn with_model_text(mut self, words: &str) -> Self {
        let words = words.trim();
        if !words.is_empty() {
            self.message = format!("{}\n{words}", self.message);
        }
        self
    }

    pub(in crate::provider) fn new(trouble: ProblemClass, message: impl Into<String>) -> Self {
        Self {
            trouble,
            error_type: None,
            message: message.into(),
            retry_after: None,
            resets_at: None,
            limited: None,
        }
    }

    /// Creates the problem of a turn that ended without being done.
    pub(in crate::provider) fn stopped(trouble: ProblemClass, reason: &str) -> Self {
        let message = format!("the model stopped: {reason}");
        Self { error_type: Some(reason.to_owned()), ..Self::new(trouble, message) }
    }

    /// Creates the problem of a stream that ended before the model did.
    pub(in crate::provider) fn ended_early() -> Self {
        Self::new(ProblemClass::Service, "the answer ended before it was complete")
    }

    /// Creates the problem of an invalid part in a stream.
    pub(in crate::provider) fn not_understood(what: &str) -> Self {
        Self::new(ProblemClass::Unknown, format!("the answer cannot be understood: {what}"))
    }

    /// Creates the problem of tool arguments that are no JSON object.
    pub(in crate::provider) fn bad_arguments() -> Self {
        Self::new(ProblemClass::Unknown, "Invalid tool call arguments")
    }

    /// Converts the problem to a fault; its message has to be redacted already.
    pub(super) fn into_fault(
        self,
        of: &Provider,
        variable: Option<&str>,
        head: Option<&ResponseHead>,
    ) -> Fault {
        let http = Http {
            status: head.map(|head| head.status),
            error_type: self.error_type,
            request_id: head.and_then(|head| head.request_id.clone()),
        };
        let kind = self.trouble.to_fault_kind(http, self.limited, of, variable);
        let mut fault = Fault::new(kind, of.name.clone(), self.message);
        fault.retry_after = self.retry_after;
        fault.resets_at = self.resets_at;
        fault
    }
}

impl From<EventTooLarge> for ProviderProblem {
    fn from(_: EventTooLarge) -> Self {
        Self::not_understood("one event is larger than any should be")
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;

    use super::*;

    // T4.6-T4.9, T4.33: by the status alone, whether it comes from a service or a program.
    #[test]
    fn every_status_has_its_code() {
        let cases = [
            (None, Code::ProviderApiError),
            (Some(301), Code::ProviderCrash),
            (Some(400), Code::ProviderRejected),
            (Some(401), Code::AuthInvalid),
            (Some(402), Code::ProviderQuota),
            (Some(403), Code::AuthInvalid),
            (Some(404), Code::ProviderNotAvailable),
            (Some(408), Code::ProviderApiError),
            (Some(413), Code::ProviderContextTooLong),
            (Some(422), Code::ProviderRejected),
            (Some(429), Code::ProviderRateLimit),
            (Some(500), Code::ProviderApiError),
            (Some(503), Code::ProviderApiError),
            (Some(529), Code::ProviderOverloaded),
            (Some(600), Code::ProviderCrash),
        ];
        for (status, code) in cases {
            let problem = ProviderProblem::new(ProblemClass::from_status(status), "words");
            assert_eq!(
                problem.into_fault(&Provider::default(), None, None).code(),
                code,
                "{status:?}"
            );
        }
    }
}
