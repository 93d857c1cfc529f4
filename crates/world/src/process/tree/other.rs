//! Systems other than Linux have no subreaper, so a tree is its process group. A child that left
//! the group, or outlived its parent, is out of reach.

use rustix::io::{Errno, Result};
use rustix::process::{Pid, Signal, kill_process_group};

/// Does nothing: orphans cannot be adopted.
pub(crate) fn adopt_orphans() -> Result<()> {
    Ok(())
}

/// `true` once the group was signaled.
pub(crate) type KnownProcesses = bool;

/// Returns an empty set: programs have no namespaces on these systems.
pub(crate) const fn with_children(_pid: Pid) -> KnownProcesses {
    false
}

/// Signals the process group of `main` once, if it has one of its own, and otherwise `main` itself.
pub(crate) fn signal_descendants(main: Pid, signal: Signal, known: &mut KnownProcesses) -> u32 {
    if std::mem::replace(known, true) {
        return 0;
    }
    match kill_process_group(main, signal) {
        Err(Errno::SRCH) | Ok(()) => 0,
        Err(_) => u32::from(rustix::process::kill_process(main, signal).is_ok()),
    }
}
