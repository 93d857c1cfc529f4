//! The clock of the night: when nothing else is left to do, it moves on to what comes next. What
//! really happens takes no time in it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use unstuck_core::time::Time;
use unstuck_runner::{Clock, Handle};

/// How often everything that could run is let run before time moves on.
const ROUNDS: u32 = 64;
/// A look at whether the disk has caught up.
const LOOK: Duration = Duration::from_micros(200);

/// The clock of the night.
pub(super) struct NightClock {
    now: watch::Sender<Time>,
    sleepers: Mutex<Sleepers>,
    /// How much really happens at the moment.
    happening: watch::Sender<u32>,
    /// The loop whose time this is.
    handle: OnceLock<Handle>,
}

#[derive(Default)]
struct Sleepers {
    next: u64,
    /// Who waits, by when and in which order they began.
    until: BTreeSet<(Time, u64)>,
}

impl NightClock {
    pub(super) fn starting_at(now: Time) -> Self {
        Self {
            now: watch::Sender::new(now),
            sleepers: Mutex::default(),
            happening: watch::Sender::new(0),
            handle: OnceLock::new(),
        }
    }

    /// Time stands still until it is known whose it is.
    pub(super) fn belongs_to(&self, handle: Handle) {
        // There is one loop.
        let _ = self.handle.set(handle);
    }

    /// Something took this long.
    pub(super) fn at_least(&self, at: Time) {
        self.now.send_if_modified(|now| {
            let moves = at > *now;
            *now = at.max(*now);
            moves
        });
    }

    /// Waits until it is `at`, and keeps the time there as long as what comes back is held.
    pub(super) async fn stands_still_at(&self, at: Time) -> Still<'_> {
        self.until(at).await;
        self.happening.send_modify(|count| *count += 1);
        Still(self)
    }

    /// Keeps the time where it is until everything that happens now has happened.
    pub(super) async fn settle(&self) {
        self.happening.send_modify(|count| *count += 1);
        let still = Still(self);
        while !self.has_come_to_rest(1).await {}
        drop(still);
    }

    fn sleepers(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only so much happens, everything that was asked is on disk, and everybody who could run has
    /// run.
    async fn has_come_to_rest(&self, happening: u32) -> bool {
        // The sender is here, so the wait ends.
        let _ = self.happening.subscribe().wait_for(|count| *count == happening).await;
        for _ in 0..ROUNDS {
            let more = *self.happening.borrow() > happening;
            if more || !self.handle.get().is_some_and(Handle::is_idle) {
                tokio::time::sleep(LOOK).await;
                return false;
            }
            tokio::task::yield_now().await;
        }
        true
    }
}

/// As long as it is held, no time passes.
pub(super) struct Still<'a>(&'a NightClock);

impl Drop for Still<'_> {
    fn drop(&mut self) {
        self.0.happening.send_modify(|count| *count -= 1);
    }
}

/// A place among those who wait, given up however the waiting ends.
struct Place<'a> {
    clock: &'a NightClock,
    key: (Time, u64),
}

impl Place<'_> {
    fn is_first(&self) -> bool {
        self.clock.sleepers().until.first() == Some(&self.key)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.clock.sleepers().until.remove(&self.key);
    }
}

#[async_trait]
impl Clock for NightClock {
    fn now(&self) -> Time {
        *self.now.borrow()
    }

    async fn until(&self, at: Time) {
        let place = {
            let mut sleepers = self.sleepers();
            sleepers.next += 1;
            let key = (at, sleepers.next);
            sleepers.until.insert(key);
            Place { clock: self, key }
        };
        // One after the other, also at the same time: the same night is the same every time.
        loop {
            if !place.is_first() {
                tokio::time::sleep(LOOK).await;
            } else if self.has_come_to_rest(0).await && place.is_first() {
                return self.at_least(at);
            }
        }
    }
}
