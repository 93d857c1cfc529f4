//! Answers that are asked for again and again, kept as long as they are true.
//!
//! Many look at the same list, and it changes seldom. The store says for a few microseconds whether
//! anything was written since; while nothing was, nothing is read, put together or hashed again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::Serialize;

use super::body::Tagged;
use crate::auth::{Caller, Reach, Role};
use crate::problem::Problem;
use crate::site::Room;

/// How many answers are kept.
const KEPT_MAX: usize = 128;
/// What is longer is not kept.
const BYTES_MAX: usize = 256 * 1_024;

/// Answers that may still be true.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<HashMap<Asked, Known>>);

/// Who asked for what: others may see something else.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Asked {
    address: Uri,
    role: Role,
    reach: Reach,
}

/// An answer, and what the stores were when it was made.
#[derive(Debug)]
struct Known {
    revisions: Vec<u64>,
    answer: Arc<Tagged>,
}

impl Kept {
    /// The answer to a request about `rooms`: the one that is known, or what `make` makes. It must
    /// depend on nothing but the address, what the caller may see, and these stores.
    pub(crate) async fn answer<T: Serialize>(
        &self,
        (address, headers, caller): (&Uri, &HeaderMap, &Caller),
        rooms: &[Arc<Room>],
        make: impl Future<Output = Result<T, Problem>>,
    ) -> Result<Response, Problem> {
        // Before anything is read: what is written meanwhile makes the answer an old one.
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
