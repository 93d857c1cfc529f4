//! The parts of a request, read with helpful problems: body, query, idempotency key, and how long it waits.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};
use unstuck_core::plan;

use crate::problem::Problem;
use crate::server_state::{HostedProject, SharedServerState};

/// The header of the idempotency key, which recognizes a repeated request.
pub(super) const KEY_HEADER: &str = "Idempotency-Key";
pub(super) const KEY_HEADER_DESCRIPTION: &str = "A new random text for each thing that is told. The same once more, after \
    an answer that was lost, is taken once.";
const KEY_CHARS_MAX: usize = 200;

/// Maximum number of seconds that one request may wait.
const WAIT_SECONDS_MAX: u64 = 55;

pub(crate) struct ApiJsonBody<T>(pub(crate) T);

pub(crate) struct ApiOptionalBody<T>(pub(crate) T);

pub(crate) struct ApiQueryParams<T>(pub(crate) T);

impl<T, S> FromRequest<S> for ApiJsonBody<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejected) => Err(json_body_error(&rejected)),
        }
    }
}

impl<T, S> FromRequest<S> for ApiOptionalBody<T>
where
    T: DeserializeOwned + Default,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Ok(bytes) = Bytes::from_request(request, state).await else {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long"));
        };
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        match Json::from_bytes(&bytes) {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejected) => Err(json_body_error(&rejected)),
        }
    }
}

impl<T, S> FromRequestParts<S> for ApiQueryParams<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejected) => Err(query_error(&rejected)),
        }
    }
}

fn json_body_error(rejected: &JsonRejection) -> Problem {
    let said = rejected.body_text();
    match rejected {
        JsonRejection::MissingJsonContentType(_) => {
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body has to be JSON, and say so")
                .with_hint("send `Content-Type: application/json`")
        }
        JsonRejection::JsonSyntaxError(_) => Problem::new(StatusCode::BAD_REQUEST, said),
        JsonRejection::JsonDataError(_) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, said)
            .with_hint("`GET /api/openapi.json` says what each request takes"),
        _ if rejected.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long")
        }
        _ => Problem::new(rejected.status(), said),
    }
}

fn query_error(rejected: &QueryRejection) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, rejected.body_text())
        .with_hint("`GET /api/openapi.json` says what each request takes")
}

/// The time that a request waits.
pub(super) struct LongPoll {
    seconds: u64,
}

impl LongPoll {
    /// Parses the wait; without one, the request does not wait.
    pub(super) fn from_wait(wait: Option<u64>) -> Result<Self, Problem> {
        let seconds = wait.unwrap_or(0);
        if seconds <= WAIT_SECONDS_MAX {
            return Ok(Self { seconds });
        }
        let detail = format!("`wait` is at most {WAIT_SECONDS_MAX} seconds");
        Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
            .with_hint("ask again when the time is over"))
    }

    /// Calls `read`, and again after each event of the project, until the result is as wanted or
    /// the time is over.
    pub(super) async fn read_until<T, R>(
        &self,
        site: &SharedServerState,
        hosted: &HostedProject,
        read: impl Fn() -> R,
        is_wanted: impl Fn(&T) -> bool,
    ) -> Result<T, Problem>
    where
        R: Future<Output = Result<T, Problem>>,
    {
        let until = Instant::now() + Duration::from_secs(self.seconds);
        let mut news = hosted.hub.subscribe_head();
        loop {
            news.mark_unchanged();
            let found = read().await?;
            if self.seconds == 0 || is_wanted(&found) || site.stop.is_cancelled() {
                return Ok(found);
            }
            let changed = async {
                tokio::select! {
                    changed = news.changed() => changed.is_ok(),
                    () = site.stop.cancelled() => false,
                }
            };
            if !timeout_at(until, changed).await.unwrap_or(false) {
                return read().await;
            }
        }
    }
}

/// Returns the idempotency key of a request, if it has one, with a digest of the whole request that
/// tells it from another one.
pub(super) fn parse_request_key(
    headers: &HeaderMap,
    about: &str,
    said: &impl Serialize,
) -> Result<Option<plan::Request>, Problem> {
    let Some(key) = headers.get(KEY_HEADER) else { return Ok(None) };
    let key = key.to_str().map(str::trim).unwrap_or_default();
    if key.is_empty() || key.len() > KEY_CHARS_MAX {
        let detail = format!("`{KEY_HEADER}` is a text of 1 to {KEY_CHARS_MAX} plain characters");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail).with_hint("send a random UUID"));
    }
    Ok(Some(plan::Request { key: Arc::from(key), said: digest_content(about, said)? }))
}

/// Returns the idempotency key of a request that requires one.
pub(super) fn require_request_key(
    headers: &HeaderMap,
    about: &str,
    said: &impl Serialize,
) -> Result<plan::Request, Problem> {
    parse_request_key(headers, about, said)?.ok_or_else(|| {
        Problem::new(StatusCode::BAD_REQUEST, format!("this request needs an `{KEY_HEADER}`"))
            .with_hint("send a random UUID, and the same one when you send this request once more")
    })
}

pub(super) fn digest_content(about: &str, said: &impl Serialize) -> Result<u64, Problem> {
    // Fields are serialized in their order, so that equal requests have equal digests.
    let said = serde_json::to_vec(&(about, said)).map_err(|error| {
        let detail = format!("the request cannot be compared with others: {error}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    })?;
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(&said).as_bytes()[..8]);
    Ok(u64::from_le_bytes(first))
}
