//! Connects to the holder of the project, with retries while it is starting or ending.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use unstuck_runner::Runner;
use unstuck_runner::control::{ClientError, ControlRefusal};
use unstuck_store::{Store, StoreError};

use super::folder::LocalProject;
use crate::error::CliError;

/// Maximum number of connection attempts.
pub(super) const TRIES: u32 = 100;
/// Pause between two attempts.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// The process that holds the project.
pub(super) enum ProjectAccess<T> {
    /// The current process.
    Ours(Box<Runner>),
    /// Another process, with a connection to it.
    Theirs(T),
}

/// Takes the project, or connects to its holder with `join`.
pub(super) async fn hold_or_connect<T>(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    verb: &str,
    join: impl AsyncFn() -> io::Result<T>,
) -> Result<ProjectAccess<T>, CliError> {
    let mut tries = TRIES;
    loop {
        let holder = match Runner::open(project.runner_setup(store, verb)?).await {
            Ok(runner) => return Ok(ProjectAccess::Ours(Box::new(runner))),
            Err(StoreError::Held(holder)) => holder,
            Err(error) => return Err(error.into()),
        };
        tries -= 1;
        match join().await {
            Ok(joined) => return Ok(ProjectAccess::Theirs(joined)),
            // The holder refuses because it is ending.
            Err(source) if is_ending(&source) => tries = TRIES,
            Err(source) if tries == 0 || source.kind() == io::ErrorKind::TimedOut => {
                return Err(CliError::NoAnswer { holder, source });
            }
            // The holder is starting or ending.
            Err(_) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn is_ending(error: &io::Error) -> bool {
    let refused = error.get_ref().and_then(|error| error.downcast_ref::<ClientError>());
    matches!(refused, Some(ClientError::Refused { why: ControlRefusal::Ended, .. }))
}
