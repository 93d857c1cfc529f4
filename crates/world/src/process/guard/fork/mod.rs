//! A guard that is a fork of this process instead of a new start of the executable.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub use linux::{ForkedGuard, fork_guard};
#[cfg(not(target_os = "linux"))]
pub use other::{ForkedGuard, fork_guard};
