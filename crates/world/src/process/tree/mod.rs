//! The descendants of this process.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub(super) use linux::{
    KnownProcesses, ProcessSnapshot, adopt_orphans, list_pids, open_pidfd, signal_descendants,
    with_children,
};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{KnownProcesses, adopt_orphans, signal_descendants, with_children};
