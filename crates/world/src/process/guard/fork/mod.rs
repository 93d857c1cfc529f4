//! A guard that is a copy of this process instead of our executable started again.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub use linux::{Forked, fork};
#[cfg(not(target_os = "linux"))]
pub use other::{Forked, fork};
