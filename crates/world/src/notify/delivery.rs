//! The outcome of a delivery, and the HTTP request by which most channels deliver.

use std::fmt;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use serde_json::Value;
use unstuck_core::fault::{Config, Fault};
use unstuck_core::time::{Span, Time};

use crate::provider::{Credential, ResponseHead, http_client, read_response};

/// The reason why a message was not delivered. Its text names hosts and programs, never a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// A retry may work.
    #[error("{why}")]
    Later {
        /// The error in words.
        why: String,
        /// The wait that the service asked for, if any.
        after: Option<DeliveryDelay>,
    },
    /// A retry cannot work: the operator has to change the settings.
    #[error("{why}")]
    Never {
        /// The error in words.
        why: String,
    },
}

/// The time to wait before a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryDelay {
    /// A span from now.
    For(Span),
    /// A point in time.
    Until(Time),
}

impl DeliveryError {
    pub(super) fn later(why: impl Into<String>) -> Self {
        Self::Later { why: why.into(), after: None }
    }

    pub(super) fn never(why: impl Into<String>) -> Self {
        Self::Never { why: why.into() }
    }
}

impl DeliveryDelay {
    /// Returns the end of the wait.
    pub fn ends_at(self, now: Time) -> Time {
        match self {
            Self::For(span) => now + span,
            Self::Until(at) => at,
        }
    }
}

const SOURCE: &str = "notify";
/// Connect timeout.
const CONNECT: Duration = Duration::from_secs(10);
/// Timeout of the whole request.
const TOTAL: Duration = Duration::from_secs(30);
const ANSWER_BYTES_MAX: usize = 64 * 1_024;

/// The header with the id of a message, which is the same at a retry.
pub(super) const DELIVERY: &str = "x-unstuck-delivery";

/// A URL that messages are posted to.
pub(super) struct PostEndpoint {
    client: Client,
    url: Url,
}

/// An unsuccessful response.
pub(super) struct PostRefusal {
    host: String,
    head: ResponseHead,
    body: Vec<u8>,
}

impl PostEndpoint {
    /// Makes a client for a URL. The URL is a secret: its holder can post.
    pub(super) fn new(url: &Credential, field: &str) -> Result<Self, Fault> {
        let wrong = |why: &str| invalid_setting(field, &format!("the address {why}"));
        let url = Url::parse(url.expose()).map_err(|_| wrong("cannot be read"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("is neither http nor https"));
        }
        Ok(Self { client: http_client(CONNECT, SOURCE)?, url })
    }

    /// Posts JSON; an unsuccessful response is an error.
    pub(super) async fn post_json(
        &self,
        delivery: &str,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    ) -> Result<(), DeliveryError> {
        self.try_post_json(delivery, headers, body)
            .await?
            .map_err(|refused| refused.to_delivery_error(None))
    }

    /// Posts JSON, and returns an unsuccessful response for the caller to judge.
    pub(super) async fn try_post_json(
        &self,
        delivery: &str,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    ) -> Result<Result<(), PostRefusal>, DeliveryError> {
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body);
        for (name, value) in headers.into_iter().chain([(DELIVERY, delivery.to_owned())]) {
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| DeliveryError::never(format!("{name} has letters no header has")))?;
            value.set_sensitive(true);
            request = request.header(HeaderName::from_static(name), value);
        }
        let host = self.host_name();
        let exchange = async {
            Ok::<_, reqwest::Error>(read_response(request.send().await?, ANSWER_BYTES_MAX).await)
        };
        match tokio::time::timeout(TOTAL, exchange).await {
            Ok(Ok((head, _))) if (200..300).contains(&head.status) => Ok(Ok(())),
            Ok(Ok((head, body))) => Ok(Err(PostRefusal { host, head, body })),
            // The error itself contains the whole URL.
            Ok(Err(error)) if error.is_connect() => {
                Err(DeliveryError::later(format!("{host} cannot be reached")))
            }
            Ok(Err(_)) => Err(DeliveryError::later(format!("the connection to {host} was lost"))),
            Err(_) => {
                let seconds = TOTAL.as_secs();
                Err(DeliveryError::later(format!("{host} did not answer within {seconds} s")))
            }
        }
    }

    fn host_name(&self) -> String {
        self.url.host_str().unwrap_or("the service").to_owned()
    }
}

impl PostRefusal {
    pub(super) fn status(&self) -> u16 {
        self.head.status
    }

    /// Parses the body as JSON; returns null if it is not.
    pub(super) fn parse_body(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Maps the response to an outcome: trouble passes, a refusal stays. `after` is a wait that the
    /// body named.
    pub(super) fn to_delivery_error(&self, after: Option<DeliveryDelay>) -> DeliveryError {
        let why = format!("{} answered {}", self.host, self.head.status);
        match self.head.status {
            408 | 425 | 429 | 500..=599 => {
                let span = self.head.retry_after().map(DeliveryDelay::For);
                let date = || self.head.retry_at().map(DeliveryDelay::Until);
                DeliveryError::Later { why, after: after.or(span).or_else(date) }
            }
            _ => DeliveryError::Never { why },
        }
    }
}

/// Returns the fault of settings that cannot work.
pub(super) fn invalid_setting(field: &str, message: &str) -> Fault {
    let field = Some(field.to_owned());
    Fault::config_invalid(SOURCE, message.to_owned(), Config { field, ..Config::default() })
}

/// Omits the URL.
impl fmt::Debug for PostEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").field("host", &self.host_name()).finish_non_exhaustive()
    }
}
