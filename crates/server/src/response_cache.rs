//! JSON responses with entity tags, and a cache that keeps them as long as they are valid.
//!
//! Many clients request the same list, and it changes seldom. The store tells within microseconds
//! whether it was written since; if not, nothing is read, serialized or hashed again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use crate::auth::{AccessRole, Caller, ProjectVisibility};
use crate::problem::Problem;

/// Maximum number of cached responses.
const KEPT_MAX: usize = 128;
/// Maximum size of a cached response, in bytes.
const BYTES_MAX: usize = 256 * 1_024;

#[derive(Debug, Default)]
pub(crate) struct ResponseCache(Mutex<HashMap<ResponseCacheKey, CachedResponse>>);

/// The cache key: the URL and the caller's permissions, because other callers may see other data.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ResponseCacheKey {
    address: Uri,
    role: AccessRole,
    reach: ProjectVisibility,
}

/// A response, and the revisions of the stores when it was made.
#[derive(Debug)]
struct CachedResponse {
    revisions: Vec<u64>,
    answer: Arc<TaggedJson>,
}

impl ResponseCache {
    /// Returns the cached response to a request, or makes it with `make`. The response must depend only on the
    /// URL, the caller's permissions, and stores whose `revisions` were read before: a later write makes the
    /// response outdated.
    pub(crate) async fn get_or_make<T: Serialize>(
        &self,
        (address, headers, caller): (&Uri, &HeaderMap, &Caller),
        revisions: Vec<u64>,
        make: impl Future<Output = Result<T, Problem>>,
    ) -> Result<Response, Problem> {
        let asked = ResponseCacheKey {
            address: address.clone(),
            role: caller.role,
            reach: caller.reach.clone(),
        };
        if let Some(known) = self.find_current(&asked, &revisions) {
            return Ok(known.to_response(headers));
        }
        let answer = Arc::new(TaggedJson::new(&make.await?)?);
        let response = answer.to_response(headers);
        if answer.len() <= BYTES_MAX {
            let mut kept = self.lock_entries();
            if kept.len() >= KEPT_MAX {
                kept.clear();
            }
            kept.insert(asked, CachedResponse { revisions, answer });
        }
        Ok(response)
    }

    fn find_current(&self, asked: &ResponseCacheKey, revisions: &[u64]) -> Option<Arc<TaggedJson>> {
        let kept = self.lock_entries();
        let known = kept.get(asked).filter(|known| known.revisions == revisions)?;
        Some(Arc::clone(&known.answer))
    }

    fn lock_entries(&self) -> MutexGuard<'_, HashMap<ResponseCacheKey, CachedResponse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// JSON with an entity tag, which is a hash of the JSON.
#[derive(Debug)]
pub(crate) struct TaggedJson {
    json: Bytes,
    tag: HeaderValue,
}

impl TaggedJson {
    pub(crate) fn new(value: &impl Serialize) -> Result<Self, Problem> {
        let unwritable = || {
            let detail = "what was found cannot be written as JSON";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
        };
        let json = serde_json::to_vec(value).map_err(|_| unwritable())?;
        let tag = format!("\"{}\"", &blake3::hash(&json).to_hex()[..24]);
        let tag = HeaderValue::try_from(tag).map_err(|_| unwritable())?;
        Ok(Self { json: json.into(), tag })
    }

    fn len(&self) -> usize {
        self.json.len()
    }

    /// Responds with the JSON, or with 304 if the client has it already.
    pub(crate) fn to_response(&self, headers: &HeaderMap) -> Response {
        let known = headers.get(header::IF_NONE_MATCH).map_or(&[][..], HeaderValue::as_bytes);
        let same = known.split(|byte| *byte == b',').any(|known| self.tag == known.trim_ascii());
        let mut response = if same {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let json_type = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, json_type)], self.json.clone()).into_response()
        };
        response.headers_mut().insert(header::ETAG, self.tag.clone());
        response
    }
}
