//! Interpretation of HTTP responses: the status decides, the text is for people.

use unstuck_core::fault::{Auth, Fault, Http, Logic, Missing, RateLimit};

use super::CallFailure;
use crate::provider::ResponseHead;

/// Maximum number of bytes of the response's text in a fault's message.
const MESSAGE_BYTES_MAX: usize = 1_024;

/// A complete response.
#[derive(Debug)]
pub(super) struct ConnectorResponse {
    pub(super) source: &'static str,
    pub(super) host: String,
    pub(super) head: ResponseHead,
    pub(super) body: Vec<u8>,
}

impl ConnectorResponse {
    pub(super) const fn status(&self) -> u16 {
        self.head.status
    }

    pub(super) fn body_text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body of a successful response, and otherwise whether the action may have
    /// happened.
    pub(super) fn into_result(self) -> Result<String, CallFailure> {
        match self.status() {
            200..=299 => Ok(self.body_text()),
            // A server that fails or times out may have performed the action before, and one that
            // redirects often has.
            300..=399 | 408 | 500..=599 => Err(CallFailure::Lost(self.to_fault())),
            _ => Err(CallFailure::Refused(self.to_fault())),
        }
    }

    /// Returns the fault for a status that is not a success.
    pub(super) fn to_fault(&self) -> Fault {
        let source = self.source;
        let status = self.status();
        let message = self.describe_response();
        let http = Http {
            status: Some(status),
            error_type: None,
            request_id: self.head.request_id.clone(),
        };
        let auth = Auth { account: self.host.clone(), ..Auth::default() };
        let mut fault = match status {
            429 => self.rate_limit_fault(message),
            403 if self.is_rate_limited() => self.rate_limit_fault(message),
            401 | 403 => Fault::auth_invalid(source, message, auth),
            404 | 410 => {
                let what = format!("what was called at {}", self.host);
                Fault::precondition_missing(source, message, Missing { what })
            }
            408 | 425 | 500..=599 => Fault::network_unavailable(source, message, http),
            _ => Fault::logic_bad_input(source, message, Logic::default()),
        };
        fault.retry_after = self.head.retry_after();
        fault.resets_at = self.head.retry_at();
        fault
    }

    fn rate_limit_fault(&self, message: String) -> Fault {
        let context = RateLimit { status: Some(self.status()), limited: None };
        Fault::network_rate_limit(self.source, message, context)
    }

    /// Returns whether a 403 is a rate limit: GitHub answers 403 when it is called too often, and
    /// says so in these headers.
    fn is_rate_limited(&self) -> bool {
        self.head.get("retry-after").is_some()
            || self.head.get("x-ratelimit-remaining") == Some("0")
    }

    fn describe_response(&self) -> String {
        let said = self.body_text();
        let said = &said[..said.floor_char_boundary(MESSAGE_BYTES_MAX)];
        format!("{} answered {}: {}", self.host, self.status(), said.trim())
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderMap, HeaderName};
    use unstuck_core::fault::Code;
    use unstuck_core::time::Span;

    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &str)]) -> ConnectorResponse {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        let head = ResponseHead::new(status, headers);
        ConnectorResponse {
            source: "http",
            host: "example.org".to_owned(),
            head,
            body: b"no".to_vec(),
        }
    }

    // T3.1, T3.2, T3.9
    #[test]
    fn the_status_says_which_fault_it_is_and_whether_it_may_have_happened() {
        type Headers = &'static [(&'static str, &'static str)];
        let table: [(u16, Headers, Code, bool); 13] = [
            (301, &[], Code::LogicBadInput, true),
            (400, &[], Code::LogicBadInput, false),
            (401, &[], Code::AuthInvalid, false),
            (403, &[], Code::AuthInvalid, false),
            (403, &[("retry-after", "7")], Code::NetworkRateLimit, false),
            (403, &[("x-ratelimit-remaining", "0")], Code::NetworkRateLimit, false),
            (404, &[], Code::PreconditionMissing, false),
            (408, &[], Code::NetworkUnavailable, true),
            (409, &[], Code::LogicBadInput, false),
            (422, &[], Code::LogicBadInput, false),
            (429, &[("retry-after", "7")], Code::NetworkRateLimit, false),
            (500, &[], Code::NetworkUnavailable, true),
            (503, &[("retry-after", "7")], Code::NetworkUnavailable, true),
        ];
        for (status, headers, code, maybe) in table {
            let (fault, lost) = match answer(status, headers).into_result() {
                Err(CallFailure::Lost(fault)) => (fault, true),
                Err(CallFailure::Refused(fault)) => (fault, false),
                Ok(said) => panic!("{status}: {said}"),
            };
            assert_eq!((fault.code(), lost), (code, maybe), "{status} {headers:?}");
            let wait = headers.iter().any(|(name, _)| *name == "retry-after");
            assert_eq!(fault.retry_after, wait.then_some(Span::from_secs(7)), "{status}");
        }
        assert_eq!(answer(201, &[]).into_result().unwrap(), "no");
    }
}
