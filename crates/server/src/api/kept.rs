//! A cache of responses, which are kept as long as they are valid.
//!
//! Many clients request the same list, and it changes seldom. The store tells within microseconds
//! whether it was written since; if not, nothing is read, serialized or hashed again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::Serialize;

use super::body::Tagged;
use crate::auth::{Caller, Reach, Role};
use crate::problem::Problem;
use crate::site::Room;

/// Maximum number of cached responses.
const KEPT_MAX: usize = 128;
/// Maximum size of a cached response, in bytes.
const BYTES_MAX: usize = 256 * 1_024;

/// The cached responses.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<HashMap<Asked, Known>>);

/// The cache key: the URL and the caller's permissions, because other callers may see other data.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Asked {
    address: Uri,
    role: Role,
    reach: Reach,
}

/// A response, and the revisions of the stores when it was made.
#[derive(Debug)]
struct Known {
    revisions: Vec<u64>,
    answer: Arc<Tagged>,
}

impl Kept {
    /// Returns the cached response to a request about `rooms`, or makes it with `make`. The
    /// response must depend only on the URL, the caller's permissions, and these stores.
    pub(crate) async fn answer<T: Serialize>(
        &self,
        (address, headers, caller): (&Uri, &HeaderMap, &Caller),
        rooms: &[Arc<Room>],
        make: impl Future<Output = Result<T, Problem>>,
    ) -> Result<Response, Problem> {
        // The revisions come first: a later write makes the response outdated.
        let revisions = rooms.iter().map(|room| room.store.revision()).collect::<Result<_, _>>()?;
        let asked =
            Asked { address: address.clone(), role: caller.role, reach: caller.reach.clone() };
        if let Some(known) = self.known(&asked, &revisions) {
            return Ok(known.answer(headers));
        }
        let answer = Arc::new(Tagged::new(&make.await?)?);
        let response = answer.answer(headers);
        if answer.len() <= BYTES_MAX {
            let mut kept = self.lock();
            if kept.len() >= KEPT_MAX {
                kept.clear();
            }
            kept.insert(asked, Known { revisions, answer });
        }
        Ok(response)
    }

    fn known(&self, asked: &Asked, revisions: &Vec<u64>) -> Option<Arc<Tagged>> {
        let kept = self.lock();
        let known = kept.get(asked).filter(|known| known.revisions == *revisions)?;
        Some(Arc::clone(&known.answer))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Asked, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
