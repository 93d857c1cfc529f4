//! The processes below this one.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub(super) use linux::{adopt_orphans, all, pidfd, signal_descendants};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{adopt_orphans, signal_descendants};
