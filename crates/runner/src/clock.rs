//! What time it is.
//!
//! Decisions take the time as an argument, and waits end at a point in time, not after a while: a
//! machine that slept or whose clock was set is right again at once.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use unstuck_core::time::Time;

/// What time it is, and waiting for it.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Time;

    /// Waits until a point in time. It may return early when the clock was set: look again.
    async fn until(&self, at: Time);
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

    async fn until(&self, at: Time) {
        #[cfg(target_os = "linux")]
        if timer::until(at).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from(at.since(self.now())).min(LOOK_AGAIN)).await;
    }
}

/// Where no timer tells of a clock that was set, we look now and then.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// A timer of the kernel on the wall clock: it goes on through a suspend, and ends early when
/// somebody sets the clock.
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
        // All that is asked of it is to become readable, as of a pipe.
        pipe::Receiver::from_owned_fd_unchecked(timer)?.readable().await
    }
}
