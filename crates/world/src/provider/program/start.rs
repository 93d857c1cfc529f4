//! The common launch parameters of agent programs, and the homes that they share: the first program
//! initializes a home, and the others wait for that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use unstuck_core::fault::{Fault, Missing};

use crate::agent::AgentAssignment;
use crate::process::{GuardCommand, Launch, ProcessInput, Wall};

/// Number of bytes kept of the standard error: more than a fault quotes.
const COMPLAINT_BYTES_MAX: usize = 16 * 1_024;
/// Mode of the home, which no other user may read.
const PRIVATE: u32 = 0o700;

pub(in crate::provider) fn create_home(home: &Path, source: &str) -> Result<(), Fault> {
    let made = DirBuilder::new().recursive(true).mode(PRIVATE).create(home);
    made.map_err(|error| home_fault(home, source).with_cause(error))
}

pub(in crate::provider) fn home_fault(home: &Path, source: &str) -> Fault {
    let message = format!("{} cannot be prepared", home.display());
    let what = "the directory for the agent's state".to_owned();
    Fault::precondition_missing(source, message, Missing { what })
}

/// Returns the wall around an agent that is `program`, which may also write to `own` paths. The
/// assignment decides about its network access.
pub(in crate::provider) fn build_wall(
    assignment: &AgentAssignment,
    program: &Path,
    own: impl IntoIterator<Item = PathBuf>,
) -> Wall {
    let mut wall = assignment.wall.clone();
    if let Some(writable) = &mut wall.writable {
        writable.extend(own);
        wall.admit_program(program);
    }
    wall
}

/// Creates the launch of `program` for an assignment, with only the assignment's environment and a
/// piped standard input.
pub(in crate::provider) fn build_launch(
    guard: &GuardCommand,
    program: &Path,
    assignment: &AgentAssignment,
) -> Launch {
    let mut launch = Launch::new(guard.clone(), &assignment.lock, &assignment.directory, program);
    let environment = assignment.environment.iter().cloned();
    launch.inherits_environment = false;
    launch.environment = environment.map(|(name, value)| (name, Some(value))).collect();
    launch.input = ProcessInput::Taken;
    launch.output_bytes_max = COMPLAINT_BYTES_MAX;
    launch
}

/// Returns the variables of `environment` that the assignment does not set, without those in
/// `taken`.
pub(in crate::provider) fn filter_environment(
    environment: &[(OsString, OsString)],
    assignment: &AgentAssignment,
    taken: &[&str],
) -> impl Iterator<Item = (OsString, Option<OsString>)> {
    let passes = |name: &OsString| {
        let is_assigned = assignment.environment.iter().any(|(known, _)| known == name);
        !is_assigned && taken.iter().all(|other| name != other)
    };
    environment
        .iter()
        .filter(move |(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), Some(value.clone())))
}

/// The homes of this process, `true` if initialized. Programs that create the databases in one at
/// the same time fail.
static MADE: LazyLock<Mutex<BTreeMap<PathBuf, Arc<AsyncMutex<bool>>>>> =
    LazyLock::new(Mutex::default);

/// The lock of the first program in a home. The others wait until that program has begun, or is
/// gone.
#[derive(Debug)]
pub(in crate::provider) struct HomeInitLock(OwnedMutexGuard<bool>);

impl HomeInitLock {
    /// Waits while another program initializes the home; returns `None` if it is initialized.
    pub(in crate::provider) async fn acquire(home: &Path) -> Option<Self> {
        let home = {
            let mut homes = MADE.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(homes.entry(home.to_owned()).or_default())
        };
        let made = home.lock_owned().await;
        (!*made).then_some(Self(made))
    }

    /// Marks the home as initialized, because the program has written its first line.
    pub(super) fn mark_initialized(mut self) {
        *self.0 = true;
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn the_second_program_waits_until_the_first_has_begun() {
        let home = Path::new("/shop/agents/one");
        let first = HomeInitLock::acquire(home).await.unwrap();
        let mut second = pin!(HomeInitLock::acquire(home));
        assert!(second.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(
            HomeInitLock::acquire(Path::new("/shop/agents/two")).await.is_some(),
            "its own home"
        );
        first.mark_initialized();
        assert!(second.await.is_none());
    }

    #[tokio::test]
    async fn one_that_never_began_leaves_it_to_the_next() {
        let home = Path::new("/shop/agents/three");
        drop(HomeInitLock::acquire(home).await);
        let mut second = pin!(HomeInitLock::acquire(home));
        let polled = second.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Some(_))));
    }
}
