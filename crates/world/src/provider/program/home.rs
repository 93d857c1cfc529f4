//! Homes that programs share: the first program initializes the home, and the others wait for that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// The homes of this process, `true` if initialized. Programs that create the databases in one at
/// the same time fail.
static MADE: LazyLock<Mutex<BTreeMap<PathBuf, Arc<Turn<bool>>>>> = LazyLock::new(Mutex::default);

/// The lock of the first program in a home. The others wait until that program has begun, or is
/// gone.
#[derive(Debug)]
pub(in crate::provider) struct HomeInitLock(OwnedMutexGuard<bool>);

impl HomeInitLock {
    /// Waits while another program initializes the home; returns `None` if it is initialized.
    pub(in crate::provider) async fn acquire(home: &Path) -> Option<Self> {
        let turn = {
            let mut homes = MADE.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(homes.entry(home.to_owned()).or_default())
        };
        let made = turn.lock_owned().await;
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
