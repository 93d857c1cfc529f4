//! The virtual clock of the demo: when no work is left at the current time, it advances to the next
//! sleeper. Real work takes no virtual time.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use unstuck_core::time::Time;
use unstuck_runner::{Clock, RunnerHandle};

/// Number of times that all runnable tasks are polled before time advances.
const ROUNDS: u32 = 64;
/// Interval between two checks that the disk has caught up.
const LOOK: Duration = Duration::from_micros(200);

/// The virtual clock.
pub(super) struct NightClock {
    now: watch::Sender<Time>,
    sleepers: Mutex<Sleepers>,
    /// Number of real operations in progress.
    happening: watch::Sender<u32>,
    /// The loop that uses this clock.
    handle: OnceLock<RunnerHandle>,
}

#[derive(Default)]
struct Sleepers {
    next: u64,
    /// The sleepers by their wake time and the order in which they began.
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

    /// Sets the loop of this clock; until then time stands still.
    pub(super) fn set_handle(&self, handle: RunnerHandle) {
        // There is only one loop.
        let _ = self.handle.set(handle);
    }

    /// Advances the time to `at`, unless it is already later.
    pub(super) fn advance_to(&self, at: Time) {
        self.now.send_if_modified(|now| {
            let moves = at > *now;
            *now = at.max(*now);
            moves
        });
    }

    /// Waits until it is `at`, and stops time as long as the returned guard is held.
    pub(super) async fn pause_at(&self, at: Time) -> ClockPause<'_> {
        self.wait_until(at).await;
        self.happening.send_modify(|count| *count += 1);
        ClockPause(self)
    }

    /// Stops time until all current work is complete.
    pub(super) async fn settle(&self) {
        self.happening.send_modify(|count| *count += 1);
        let still = ClockPause(self);
        while !self.wait_for_rest(1).await {}
        drop(still);
    }

    fn lock_sleepers(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the clock is at rest: exactly `happening` operations are in progress, all requests
    /// are on disk, and all runnable tasks have run.
    async fn wait_for_rest(&self, happening: u32) -> bool {
        // The sender lives as long as `self`, so the wait ends.
        let _ = self.happening.subscribe().wait_for(|count| *count == happening).await;
        for _ in 0..ROUNDS {
            let more = *self.happening.borrow() > happening;
            if more || !self.handle.get().is_some_and(RunnerHandle::is_idle) {
                tokio::time::sleep(LOOK).await;
                return false;
            }
            tokio::task::yield_now().await;
        }
        true
    }
}

/// A guard that stops time while it is held.
pub(super) struct ClockPause<'a>(&'a NightClock);

impl Drop for ClockPause<'_> {
    fn drop(&mut self) {
        self.0.happening.send_modify(|count| *count -= 1);
    }
}

/// A place among the sleepers, released however the wait ends.
struct SleeperSlot<'a> {
    clock: &'a NightClock,
    key: (Time, u64),
}

impl SleeperSlot<'_> {
    fn is_first(&self) -> bool {
        self.clock.lock_sleepers().until.first() == Some(&self.key)
    }
}

impl Drop for SleeperSlot<'_> {
    fn drop(&mut self) {
        self.clock.lock_sleepers().until.remove(&self.key);
    }
}

#[async_trait]
impl Clock for NightClock {
    fn now(&self) -> Time {
        *self.now.borrow()
    }

    async fn wait_until(&self, at: Time) {
        let place = {
            let mut sleepers = self.lock_sleepers();
            sleepers.next += 1;
            let key = (at, sleepers.next);
            sleepers.until.insert(key);
            SleeperSlot { clock: self, key }
        };
        // Sleepers wake one after the other, also at the same time, so that a night is reproducible.
        loop {
            if !place.is_first() {
                tokio::time::sleep(LOOK).await;
            } else if self.wait_for_rest(0).await && place.is_first() {
                return self.advance_to(at);
            }
        }
    }
}
