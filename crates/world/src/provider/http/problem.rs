//! The one mapping from what a service said to a fault.
//!
//! What a status means is the same everywhere; a provider's own parser knows the error types that
//! say more. Words are for people: nothing here looks at a message.

use unstuck_core::fault::{Auth, Crash, Fault, Http, Provider, RateLimit};
use unstuck_core::time::{Span, Time};

use super::super::sse::TooLarge;
use super::head::Head;

/// What is wrong, as far as anything is decided by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) enum Trouble {
    /// The key is not accepted.
    Credentials,
    /// Nothing is left to pay with.
    Quota,
    /// There is no such model, or no such service at the address.
    NotThere,
    /// Too much at a time.
    RateLimit,
    /// A plan's window is used up.
    UsageLimit,
    /// The service has too much to do.
    Overloaded,
    /// The service failed, or the connection did.
    Service,
    /// The conversation does not fit.
    ContextTooLong,
    /// The answer does not fit.
    OutputLimit,
    /// The model declines.
    Refused,
    /// The request is not accepted as it is.
    Rejected,
    /// None of what is known.
    Unknown,
}

impl Trouble {
    /// What a status means where nothing better is known.
    pub(in crate::provider) const fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Credentials,
            402 => Self::Quota,
            404 => Self::NotThere,
            // The server gave up waiting for the request: that passes.
            408 => Self::Service,
            413 => Self::ContextTooLong,
            429 => Self::RateLimit,
            529 => Self::Overloaded,
            400..=499 => Self::Rejected,
            500..=599 => Self::Service,
            _ => Self::Unknown,
        }
    }
}

/// Something went wrong, in the service's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::provider) struct Problem {
    pub(in crate::provider) trouble: Trouble,
    /// The error type that the service named.
    pub(in crate::provider) error_type: Option<String>,
    pub(in crate::provider) message: String,
    pub(in crate::provider) retry_after: Option<Span>,
    pub(in crate::provider) resets_at: Option<Time>,
    /// What is limited, as the service names it.
    pub(in crate::provider) limited: Option<String>,
}

impl Problem {
    pub(in crate::provider) fn new(trouble: Trouble, message: impl Into<String>) -> Self {
        Self {
            trouble,
            error_type: None,
            message: message.into(),
            retry_after: None,
            resets_at: None,
            limited: None,
        }
    }

    /// A stream that ended before the model did.
    pub(in crate::provider) fn ended_early() -> Self {
        Self::new(Trouble::Service, "the answer ended before it was complete")
    }

    /// Something that should not be in a stream.
    pub(in crate::provider) fn not_understood(what: &str) -> Self {
        Self::new(Trouble::Unknown, format!("the answer cannot be understood: {what}"))
    }

    /// Arguments of a tool's call that are no JSON object.
    pub(in crate::provider) fn bad_arguments() -> Self {
        Self::new(Trouble::Unknown, "Invalid tool call arguments")
    }

    /// The fault it is. `message` is what may be shown of its own.
    pub(super) fn fault(self, of: &Provider, variable: Option<&str>, head: Option<&Head>) -> Fault {
        let source = of.name.clone();
        let message = self.message;
        let status = head.map(|head| head.status);
        let http = Http {
            status,
            error_type: self.error_type,
            request_id: head.and_then(|head| head.request_id.clone()),
        };
        let rate = RateLimit { status, limited: self.limited };
        let auth = Auth { account: of.name.clone(), variable: variable.map(ToOwned::to_owned) };
        let mut fault = match self.trouble {
            Trouble::Credentials => Fault::auth_invalid(source, message, auth),
            Trouble::Quota => Fault::provider_quota(source, message, http),
            Trouble::NotThere => Fault::provider_not_available(source, message, of.clone()),
            Trouble::RateLimit => Fault::provider_rate_limit(source, message, rate),
            Trouble::UsageLimit => Fault::provider_usage_limit(source, message, rate),
            Trouble::Overloaded => Fault::provider_overloaded(source, message, rate),
            Trouble::Service => Fault::provider_api_error(source, message, http),
            Trouble::ContextTooLong => Fault::provider_context_too_long(source, message, http),
            Trouble::OutputLimit => Fault::provider_output_limit(source, message, http),
            Trouble::Refused => Fault::provider_refused(source, message, http),
            Trouble::Rejected => Fault::provider_rejected(source, message, http),
            Trouble::Unknown => Fault::provider_crash(source, message, Crash::default()),
        };
        fault.retry_after = self.retry_after;
        fault.resets_at = self.resets_at;
        fault
    }
}

impl From<TooLarge> for Problem {
    fn from(_: TooLarge) -> Self {
        Self::not_understood("one event is larger than any should be")
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::fault::Code;

    use super::*;

    // T4.6-T4.9, T4.33: by its status alone.
    #[test]
    fn every_status_has_its_code() {
        let cases = [
            (301, Code::ProviderCrash),
            (400, Code::ProviderRejected),
            (401, Code::AuthInvalid),
            (402, Code::ProviderQuota),
            (403, Code::AuthInvalid),
            (404, Code::ProviderNotAvailable),
            (408, Code::ProviderApiError),
            (413, Code::ProviderContextTooLong),
            (422, Code::ProviderRejected),
            (429, Code::ProviderRateLimit),
            (500, Code::ProviderApiError),
            (503, Code::ProviderApiError),
            (529, Code::ProviderOverloaded),
            (600, Code::ProviderCrash),
        ];
        for (status, code) in cases {
            let problem = Problem::new(Trouble::of_status(status), "words");
            assert_eq!(problem.fault(&Provider::default(), None, None).code(), code, "{status}");
        }
    }
}
