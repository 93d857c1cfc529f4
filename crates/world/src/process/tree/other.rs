//! Elsewhere than on Linux nobody inherits orphans, so a tree is its process group. A child that
//! left the group, or outlived its parent, is out of reach.

use rustix::io::{Errno, Result};
use rustix::process::{Pid, Signal, kill_process_group};

/// There is nothing to adopt.
pub(crate) fn adopt_orphans() -> Result<()> {
    Ok(())
}

/// Whether the group was signalled.
pub(crate) type Known = bool;

/// No program has namespaces here, so nothing else is meant by it.
pub(crate) const fn with_children(_pid: Pid) -> Known {
    false
}

/// Signals the group of `main` once, where it has one of its own.
pub(crate) fn signal_descendants(main: Pid, signal: Signal, known: &mut Known) -> u32 {
    if std::mem::replace(known, true) {
        return 0;
    }
    match kill_process_group(main, signal) {
        Err(Errno::SRCH) | Ok(()) => 0,
        Err(_) => u32::from(rustix::process::kill_process(main, signal).is_ok()),
    }
}
