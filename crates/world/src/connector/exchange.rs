//! A single HTTP request and its complete response.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, Method, Response, Url};
use unstuck_core::fault::{Config, Fault, Http};

use super::CallFailure;
use super::answer::ConnectorResponse;
use crate::provider::{ResponseHead, http_client};

/// Timeout of establishing a connection.
const CONNECT: Duration = Duration::from_secs(20);
/// Maximum size of a response in bytes. The rest is cut off, because the status says enough.
const ANSWER_BYTES_MAX: usize = 1_024 * 1_024;

/// The HTTP client of the connectors.
#[derive(Debug)]
pub(super) struct ConnectorClient {
    client: Client,
}

/// A request before it is sent.
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
        let mut headers = HeaderMap::new();
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("unstuck/", env!("CARGO_PKG_VERSION"))),
        );
        Ok(Self { source, method, url, headers, body: None, timeout })
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
                let head =
                    ResponseHead::new(response.status().as_u16(), response.headers().clone());
                let body = read_body(response).await;
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

/// Reads the body until its end, an error, or the size limit.
async fn read_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() >= ANSWER_BYTES_MAX {
            body.truncate(ANSWER_BYTES_MAX);
            break;
        }
    }
    body
}

/// Returns the innermost cause: the outer ones repeat the URL with all its parameters.
fn find_root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
