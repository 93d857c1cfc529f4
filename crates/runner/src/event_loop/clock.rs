//! The clock, and the one timer of the loop.
//!
//! Decisions take the time as an argument, and waits end at a point in time rather than after a
//! duration, so that they are correct again at once after the machine slept or its clock was set.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use unstuck_core::time::Time;

/// Longest sleep where no kernel timer reports that the clock was set.
const SLEEP_MAX: Duration = Duration::from_secs(30);

/// A source of the current time, and of waits until a point in time.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Time;

    /// Waits until a point in time. May return early when the clock was set, so the caller has to
    /// check the time again.
    async fn wait_until(&self, at: Time);
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks what time it is")]
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    async fn wait_until(&self, at: Time) {
        #[cfg(target_os = "linux")]
        if timer::until(at).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from(at.since(self.now())).min(SLEEP_MAX)).await;
    }
}

/// A kernel timer on the wall clock: it keeps running through a suspend, and ends early when the
/// clock is set.
#[cfg(target_os = "linux")]
mod timer {
    use std::io;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::net::unix::pipe;
    use unstuck_core::time::Time;

    pub(super) async fn until(at: Time) -> io::Result<()> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
        // All zeros would disarm it.
        let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX).max(1);
        let value = Timespec { tv_sec: millis / 1_000, tv_nsec: (millis % 1_000) * 1_000_000 };
        let interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        timerfd_settime(&timer, flags, &Itimerspec { it_interval: interval, it_value: value })?;
        // Only readability is needed, so the timer is treated as a pipe.
        pipe::Receiver::from_owned_fd_unchecked(timer)?.readable().await
    }
}

/// A wait for the next point in time, recreated only when that changes.
#[derive(Default)]
pub(super) struct WakeTimer {
    armed: Option<(Time, TimerFuture)>,
}

type TimerFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

impl WakeTimer {
    /// Waits until `at`, or for ever without one. Cancel safe.
    pub(super) async fn wait_until(&mut self, clock: &Arc<dyn Clock>, at: Option<Time>) {
        let Some(at) = at else { return std::future::pending().await };
        if self.armed.as_ref().is_none_or(|(armed, _)| *armed != at) {
            let clock = Arc::clone(clock);
            let wait: TimerFuture = Box::pin(async move { clock.wait_until(at).await });
            self.armed = Some((at, wait));
        }
        if let Some((_, wait)) = &mut self.armed {
            wait.await;
        }
        self.armed = None;
    }
}
