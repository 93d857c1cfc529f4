//! `Idempotency-Key`: a request that is sent once more is recognised.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use serde::Serialize;
use unstuck_core::plan::Request;

use crate::problem::Problem;

/// The header.
pub(super) const NAME: &str = "Idempotency-Key";
/// What it is, for the description.
pub(super) const SAYS: &str = "A new random text for each thing that is told. The same once more, after \
    an answer that was lost, is taken once.";
/// The longest key.
const CHARS_MAX: usize = 200;

/// The request, if it has a key. What it says is told from something else by all of it.
pub(super) fn of(
    headers: &HeaderMap,
    about: &str,
    said: &impl Serialize,
) -> Result<Option<Request>, Problem> {
    let Some(key) = headers.get(NAME) else { return Ok(None) };
    let key = key.to_str().map(str::trim).unwrap_or_default();
    if key.is_empty() || key.len() > CHARS_MAX {
        let detail = format!("`{NAME}` is a text of 1 to {CHARS_MAX} plain characters");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail).hint("send a random UUID"));
    }
    Ok(Some(Request { key: Arc::from(key), said: digest(about, said) }))
}

/// The same where a request cannot be without one.
pub(super) fn required(
    headers: &HeaderMap,
    about: &str,
    said: &impl Serialize,
) -> Result<Request, Problem> {
    of(headers, about, said)?.ok_or_else(|| {
        Problem::new(StatusCode::BAD_REQUEST, format!("this request needs an `{NAME}`"))
            .hint("send a random UUID, and the same one when you send this request once more")
    })
}

/// Recognises what was said.
pub(super) fn digest(about: &str, said: &impl Serialize) -> u64 {
    // Fields are written in their order, so the same words always come to the same.
    let said = serde_json::to_vec(&(about, said)).unwrap_or_default();
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(&said).as_bytes()[..8]);
    u64::from_le_bytes(first)
}
