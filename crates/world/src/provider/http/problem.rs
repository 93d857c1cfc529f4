//! The one mapping from what a service said to a fault.
//!
//! What a status means is the same everywhere; a provider's own parser knows the error types that
//! say more. Words are for people: nothing here looks at a message.

use unstuck_core::fault::{Auth, Crash, Fault, Http, Kind, Provider, RateLimit};
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

/// Without a status there was no answer at all.
const NO_ANSWER: Trouble = Trouble::Service;

impl Trouble {
    /// What a status means where nothing better is known.
    pub(in crate::provider) const fn of_status(status: Option<u16>) -> Self {
        let Some(status) = status else { return NO_ANSWER };
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

    /// The kind of fault it is, for the provider `of` whose key is looked for in `variable`.
    pub(in crate::provider) fn kind(
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
    /// The same with the words of the model below what happened.
    pub(in crate::provider) fn saying(mut self, words: &str) -> Self {
        let words = words.trim();
        if !words.is_empty() {
            self.message = format!("{}\n{words}", self.message);
        }
        self
    }

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
        let http = Http {
            status: head.map(|head| head.status),
            error_type: self.error_type,
            request_id: head.and_then(|head| head.request_id.clone()),
        };
        let kind = self.trouble.kind(http, self.limited, of, variable);
        let mut fault = Fault::new(kind, of.name.clone(), self.message);
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

    // T4.6-T4.9, T4.33: by its status alone, whether a service told it or a program.
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
            let problem = Problem::new(Trouble::of_status(status), "words");
            assert_eq!(problem.fault(&Provider::default(), None, None).code(), code, "{status:?}");
        }
    }
}
