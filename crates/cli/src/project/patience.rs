//! Coming to whoever holds the project, and how long they are waited for when they are just coming or
//! going.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use unstuck_runner::Runner;
use unstuck_runner::control::{ClientError, Refusal};
use unstuck_store::{Store, StoreError};

use super::folder::Project;
use crate::error::Error;

/// How often it is tried to reach them.
pub(super) const TRIES: u32 = 100;
/// Between two tries.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// Who holds the project now.
pub(super) enum Found<T> {
    /// We do.
    Ours(Box<Runner>),
    /// Somebody else does, and we have come to them.
    Theirs(T),
}

/// Takes the project, or comes to whoever has it with `join`.
pub(super) async fn take_or_join<T>(
    project: &Project,
    store: &Arc<dyn Store>,
    verb: &str,
    join: impl AsyncFn() -> io::Result<T>,
) -> Result<Found<T>, Error> {
    let mut tries = TRIES;
    loop {
        let holder = match Runner::open(project.setup(store, verb)?).await {
            Ok(runner) => return Ok(Found::Ours(Box::new(runner))),
            Err(StoreError::Held(holder)) => holder,
            Err(error) => return Err(error.into()),
        };
        tries -= 1;
        match join().await {
            Ok(joined) => return Ok(Found::Theirs(joined)),
            // It is ending, and says so.
            Err(source) if is_ending(&source) => tries = TRIES,
            Err(source) if tries == 0 || source.kind() == io::ErrorKind::TimedOut => {
                return Err(Error::NoAnswer { holder, source });
            }
            // It is just coming or going.
            Err(_) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn is_ending(error: &io::Error) -> bool {
    let refused = error.get_ref().and_then(|error| error.downcast_ref::<ClientError>());
    matches!(refused, Some(ClientError::Refused { why: Refusal::Ended, .. }))
}
