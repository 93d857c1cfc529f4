//! The `Idempotency-Key` header, which recognizes a repeated request.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use serde::Serialize;
use unstuck_core::plan::Request;

use crate::problem::Problem;

/// The name of the header.
pub(super) const HEADER_NAME: &str = "Idempotency-Key";
/// The description of the header.
pub(super) const HEADER_DESCRIPTION: &str = "A new random text for each thing that is told. The same once more, after \
    an answer that was lost, is taken once.";
/// Maximum length of a key, in characters.
const CHARS_MAX: usize = 200;

/// Returns the idempotency key of a request, if it has one, with a digest of the whole request that
/// tells it from another one.
pub(super) fn parse_request_key(
    headers: &HeaderMap,
    about: &str,
    said: &impl Serialize,
) -> Result<Option<Request>, Problem> {
    let Some(key) = headers.get(HEADER_NAME) else { return Ok(None) };
    let key = key.to_str().map(str::trim).unwrap_or_default();
    if key.is_empty() || key.len() > CHARS_MAX {
        let detail = format!("`{HEADER_NAME}` is a text of 1 to {CHARS_MAX} plain characters");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail).with_hint("send a random UUID"));
    }
    Ok(Some(Request { key: Arc::from(key), said: digest_content(about, said) }))
}

/// Returns the idempotency key of a request that requires one.
pub(super) fn require_request_key(
    headers: &HeaderMap,
    about: &str,
    said: &impl Serialize,
) -> Result<Request, Problem> {
    parse_request_key(headers, about, said)?.ok_or_else(|| {
        Problem::new(StatusCode::BAD_REQUEST, format!("this request needs an `{HEADER_NAME}`"))
            .with_hint("send a random UUID, and the same one when you send this request once more")
    })
}

/// Returns a digest of a request.
pub(super) fn digest_content(about: &str, said: &impl Serialize) -> u64 {
    // Fields are serialized in their order, so that equal requests have equal digests.
    let said = serde_json::to_vec(&(about, said)).unwrap_or_default();
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(&said).as_bytes()[..8]);
    u64::from_le_bytes(first)
}
