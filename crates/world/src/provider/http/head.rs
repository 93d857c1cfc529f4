//! The head of a response: status, ids, and the time to retry.

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use unstuck_core::time::{Span, Time};

#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    /// The service's id of the request.
    pub(crate) request_id: Option<String>,
    headers: HeaderMap,
}

impl ResponseHead {
    pub(super) fn from_response(response: &Response) -> Self {
        Self::new(response.status().as_u16(), response.headers().clone())
    }

    pub(crate) fn new(status: u16, headers: HeaderMap) -> Self {
        let mut head = Self { status, request_id: None, headers };
        let id = head.get("request-id").or_else(|| head.get("x-request-id"));
        head.request_id = id.map(ToOwned::to_owned);
        head
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }

    /// Returns whether the body is a stream of events; a missing content type counts as one.
    pub(super) fn is_stream(&self) -> bool {
        self.content_type().is_none_or(|kind| kind.starts_with("text/event-stream"))
    }

    pub(super) fn content_type(&self) -> Option<&str> {
        self.get(CONTENT_TYPE.as_str())
    }

    /// Returns the span to wait before a retry, if the service states one.
    pub(crate) fn retry_after(&self) -> Option<Span> {
        let millis = self.get("retry-after-ms").and_then(|value| parse_span(value, 1.0));
        let seconds =
            || self.get(RETRY_AFTER.as_str()).and_then(|value| parse_span(value, 1_000.0));
        millis.or_else(seconds)
    }

    /// Returns the time of a retry, if the service states a date. Without a clock here, it is not
    /// converted to a span.
    pub(crate) fn retry_at(&self) -> Option<Time> {
        let date = self.get(RETRY_AFTER.as_str())?;
        let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
        u64::try_from(date.as_millisecond()).ok().map(Time::from_millis)
    }

    /// Parses a header with seconds since 1970.
    pub(in crate::provider) fn parse_epoch_seconds(&self, name: &str) -> Option<Time> {
        let seconds: u64 = self.get(name)?.parse().ok()?;
        Some(Time::from_millis(seconds.saturating_mul(1_000)))
    }
}

/// Splits a response into its head and its body, which is read until its end, an error or
/// `bytes_max` bytes.
pub(crate) async fn read_response(
    mut response: Response,
    bytes_max: usize,
) -> (ResponseHead, Vec<u8>) {
    let head = ResponseHead::from_response(&response);
    let mut body = Vec::new();
    while body.len() < bytes_max
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(bytes_max);
    (head, body)
}

/// Returns the innermost cause of an error: the outer ones repeat the URL with all its parameters.
pub(crate) fn find_root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Parses a number with or without a fraction, as services write both; negative and excessive
/// values are rejected.
fn parse_span(value: &str, unit_ms: f64) -> Option<Span> {
    let number = value.parse::<f64>().ok().filter(|number| (0.0..1e12).contains(number))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is within the range of the type"
    )]
    Some(Span::from_millis((number * unit_ms).ceil() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(headers: &[(&'static str, &str)]) -> ResponseHead {
        let map = headers.iter().map(|(name, value)| {
            (reqwest::header::HeaderName::from_static(name), value.parse().unwrap())
        });
        ResponseHead::new(429, map.collect())
    }

    // T4.9: the wait that the service asks for is read in each format.
    #[test]
    fn when_to_come_back_is_read_in_every_spelling() {
        let span = |value| head(&[("retry-after", value)]).retry_after().map(Span::as_millis);
        let cases = [
            ("7", Some(7_000)),
            ("0", Some(0)),
            ("1.5", Some(1_500)),
            ("0.0001", Some(1)),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("99999999999999999999", None),
            ("soon", None),
        ];
        for (value, expected) in cases {
            assert_eq!(span(value), expected, "{value}");
        }
        let both = head(&[("retry-after-ms", "250"), ("retry-after", "7")]);
        assert_eq!(both.retry_after(), Some(Span::from_millis(250)));
        let date = head(&[("retry-after", "Sun, 15 Nov 2026 08:49:37 GMT")]);
        assert_eq!(
            (date.retry_after(), date.retry_at()),
            (None, Some(Time::from_millis(1_794_732_577_000)))
        );
        assert_eq!(head(&[("retry-after", "7")]).retry_at(), None);
    }

    #[test]
    fn what_is_not_said_is_a_stream() {
        assert!(head(&[]).is_stream());
        assert!(head(&[("content-type", "text/event-stream; charset=utf-8")]).is_stream());
        assert!(!head(&[("content-type", "text/html")]).is_stream());
    }
}
