//! Crash points: places where a test can kill the process, to verify that nothing is lost there.
//!
//! They do nothing unless [`arm_crash`] was called, and are not part of release builds.

#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of points that remain before the process dies; 0 for never.
#[cfg(debug_assertions)]
static LEFT: AtomicU64 = AtomicU64::new(0);

/// Makes the process die at the `nth` crash point it reaches, counted from 1.
pub fn arm_crash(nth: u64) {
    #[cfg(debug_assertions)]
    LEFT.store(nth, Ordering::SeqCst);
    #[cfg(not(debug_assertions))]
    let _ = nth;
}

/// A place where the process may die.
#[inline]
pub fn crash_point() {
    #[cfg(debug_assertions)]
    if LEFT.load(Ordering::SeqCst) > 0 && LEFT.fetch_sub(1, Ordering::SeqCst) == 1 {
        // Like `kill -9`: nothing is flushed, closed or unwound.
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
