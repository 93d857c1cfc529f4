//! A cache of responses, which are kept as long as they are valid.
//!
//! Many clients request the same list, and it changes seldom. The store tells within microseconds
//! whether it was written since; if not, nothing is read, serialized or hashed again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::Serialize;

use super::body::TaggedJson;
use crate::auth::{AccessRole, Caller, ProjectVisibility};
use crate::problem::Problem;
use crate::site::HostedProject;

/// Maximum number of cached responses.
const KEPT_MAX: usize = 128;
/// Maximum size of a cached response, in bytes.
const BYTES_MAX: usize = 256 * 1_024;

/// The cached responses.
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
    /// Returns the cached response to a request about `rooms`, or makes it with `make`. The
    /// response must depend only on the URL, the caller's permissions, and these stores.
    pub(crate) async fn get_or_make<T: Serialize>(
        &self,
        (address, headers, caller): (&Uri, &HeaderMap, &Caller),
        rooms: &[Arc<HostedProject>],
        make: impl Future<Output = Result<T, Problem>>,
    ) -> Result<Response, Problem> {
        // The revisions come first: a later write makes the response outdated.
        let revisions =
            rooms.iter().map(|room| room.store.read_revision()).collect::<Result<_, _>>()?;
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

    fn find_current(
        &self,
        asked: &ResponseCacheKey,
        revisions: &Vec<u64>,
    ) -> Option<Arc<TaggedJson>> {
        let kept = self.lock_entries();
        let known = kept.get(asked).filter(|known| known.revisions == *revisions)?;
        Some(Arc::clone(&known.answer))
    }

    fn lock_entries(&self) -> MutexGuard<'_, HashMap<ResponseCacheKey, CachedResponse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
