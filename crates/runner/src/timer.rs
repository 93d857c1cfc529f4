//! The one timer of the loop, for the next wake-up.

use std::pin::Pin;
use std::sync::Arc;

use unstuck_core::time::Time;

use crate::clock::Clock;

/// A wait for the next point in time, recreated only when that changes.
#[derive(Default)]
pub(crate) struct WakeTimer {
    armed: Option<(Time, TimerFuture)>,
}

type TimerFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

impl WakeTimer {
    /// Waits until `at`, or for ever without one. Cancel safe.
    pub(crate) async fn wait_until(&mut self, clock: &Arc<dyn Clock>, at: Option<Time>) {
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
