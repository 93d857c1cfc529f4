//! A single HTTP request, and the interpretation of its complete response: the status decides, the
//! text is for people.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url};
use unstuck_core::fault::{Auth, Config, Fault, Http, Logic, Missing, RateLimit};

use super::CallFailure;
use crate::provider::{ResponseHead, find_root_cause, http_client, read_response};

/// Timeout of establishing a connection.
const CONNECT: Duration = Duration::from_secs(20);
/// Maximum size of a response in bytes. The rest is cut off, because the status says enough.
const ANSWER_BYTES_MAX: usize = 1_024 * 1_024;

#[derive(Debug)]
pub(super) struct ConnectorClient {
    client: Client,
}

#[derive(Debug)]
pub(super) struct ConnectorRequest {
    pub(super) source: &'static str,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<String>,
    pub(super) timeout: Duration,
}

impl ConnectorRequest {
    pub(super) fn new(
        source: &'static str,
        method: &str,
        url: &str,
        timeout: Duration,
    ) -> Result<Self, CallFailure> {
        let wrong = |what: &str, field: &str| invalid_request(source, what.to_owned(), field);
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| wrong("the method cannot be one", "method"))?;
        let url = Url::parse(url).map_err(|_| wrong("the address cannot be read", "url"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("the address is neither http nor https", "url"));
        }
        // The URL is stored with the action, where no secret belongs.
        if url.password().is_some() {
            return Err(wrong("the address has a password in it", "url"));
        }
        Ok(Self { source, method, url, headers: HeaderMap::new(), body: None, timeout })
    }

    pub(super) fn add_header(&mut self, name: &str, value: &str) -> Result<(), CallFailure> {
        let (name, value) = self.parse_header(name, value)?;
        self.headers.append(name, value);
        Ok(())
    }

    /// Adds a header whose value no log shows.
    pub(super) fn add_secret_header(&mut self, name: &str, value: &str) -> Result<(), CallFailure> {
        let (name, mut value) = self.parse_header(name, value)?;
        value.set_sensitive(true);
        self.headers.append(name, value);
        Ok(())
    }

    fn parse_header(
        &self,
        name: &str,
        value: &str,
    ) -> Result<(HeaderName, HeaderValue), CallFailure> {
        let read = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        read.ok_or_else(|| {
            invalid_request(self.source, format!("the header {name:?} cannot be one"), "headers")
        })
    }

    fn host(&self) -> String {
        self.url.host_str().unwrap_or_default().to_owned()
    }
}

fn invalid_request(source: &'static str, message: String, field: &str) -> CallFailure {
    let field = Some(field.to_owned());
    CallFailure::Refused(Fault::config_invalid(
        source,
        message,
        Config { field, ..Config::default() },
    ))
}

impl ConnectorClient {
    pub(super) fn new() -> Result<Self, Fault> {
        Ok(Self { client: http_client(CONNECT, "connector")? })
    }

    /// Sends a request and reads the response, with any status.
    pub(super) async fn fetch_response(
        &self,
        request: ConnectorRequest,
    ) -> Result<ConnectorResponse, CallFailure> {
        let source = request.source;
        let host = request.host();
        let limit = request.timeout;
        tokio::time::timeout(limit, self.send_request(request)).await.unwrap_or_else(|_| {
            let message = format!("{host} did not answer within {} s", limit.as_secs());
            Err(CallFailure::Lost(Fault::network_timeout(source, message, Http::default())))
        })
    }

    async fn send_request(
        &self,
        request: ConnectorRequest,
    ) -> Result<ConnectorResponse, CallFailure> {
        let source = request.source;
        let host = request.host();
        let mut sent = self.client.request(request.method, request.url).headers(request.headers);
        if let Some(body) = request.body {
            sent = sent.body(body);
        }
        match sent.send().await {
            Ok(response) => {
                let (head, body) = read_response(response, ANSWER_BYTES_MAX).await;
                Ok(ConnectorResponse { source, host, head, body })
            }
            // Without a connection no part of the request was sent.
            Err(error) if error.is_connect() => {
                let message = format!("{host} cannot be reached");
                let fault = Fault::network_unreachable(source, message, Http::default());
                Err(CallFailure::Refused(fault.with_cause(find_root_cause(&error))))
            }
            Err(error) => {
                let message = format!("the connection to {host} was lost before an answer");
                let fault = Fault::network_unavailable(source, message, Http::default());
                Err(CallFailure::Lost(fault.with_cause(find_root_cause(&error))))
            }
        }
    }
}

/// Maximum number of bytes of the response's text in a fault's message.
const MESSAGE_BYTES_MAX: usize = 1_024;

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
