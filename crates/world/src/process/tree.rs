//! The descendants of this process.

#[cfg(target_os = "linux")]
pub(super) use linux::{
    KnownProcesses, ProcessSnapshot, adopt_orphans, list_descendants, list_pids, open_pidfd,
    signal_descendants, with_children,
};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{KnownProcesses, adopt_orphans, signal_descendants, with_children};

/// The descendants of this process, as `/proc` shows them.
#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet};
    use std::fs;
    use std::os::fd::OwnedFd;

    use rustix::io::{Errno, Result};
    use rustix::process::{
        Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
        set_child_subreaper,
    };

    /// Makes this process the subreaper: descendants that lose their parent become its children.
    pub(crate) fn adopt_orphans() -> Result<()> {
        set_child_subreaper(Some(getpid()))
    }

    /// Processes, identified by pid and start time.
    pub(crate) type KnownProcesses = HashSet<(Pid, u64)>;

    /// Signals every descendant of this process that is not yet in `known`, adds it there, and
    /// returns how many of them were alive. The main child is one of the descendants, so its pid is
    /// not needed.
    pub(crate) fn signal_descendants(
        _main: Pid,
        signal: Signal,
        known: &mut KnownProcesses,
    ) -> u32 {
        let mut alive = 0;
        for process in list_descendants() {
            if known.insert((process.pid, process.started)) {
                alive += u32::from(process.send_signal(signal) && !process.is_zombie);
            }
        }
        alive
    }

    /// Returns every descendant of this process, parents before their children.
    pub(crate) fn list_descendants() -> Vec<ProcessSnapshot> {
        let mut children: HashMap<Option<Pid>, Vec<ProcessSnapshot>> = HashMap::new();
        for process in list_pids().filter_map(ProcessSnapshot::from_pid) {
            children.entry(process.parent).or_default().push(process);
        }
        let mut found = Vec::new();
        let mut parents = vec![getpid()];
        while let Some(parent) = parents.pop() {
            let next = children.remove(&Some(parent)).unwrap_or_default();
            parents.extend(next.iter().map(|process| process.pid));
            found.extend(next);
        }
        found
    }

    /// Returns a process and its children.
    pub(crate) fn with_children(pid: Pid) -> KnownProcesses {
        let seen = list_pids().filter_map(ProcessSnapshot::from_pid);
        let family = seen.filter(|process| process.pid == pid || process.parent == Some(pid));
        family.map(|process| (process.pid, process.started)).collect()
    }

    pub(crate) fn list_pids() -> impl Iterator<Item = Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
    }

    /// Opens a handle that refers to this process even after its pid is reused; an error if the
    /// process is gone.
    pub(crate) fn open_pidfd(pid: Pid) -> Result<OwnedFd> {
        pidfd_open(pid, PidfdFlags::empty())
    }

    /// A process at the moment of observation.
    pub(crate) struct ProcessSnapshot {
        pub(crate) pid: Pid,
        /// The parent; `None` for the first process.
        pub(crate) parent: Option<Pid>,
        /// `true` if the main thread has ended. Other threads may go on, so the process is still
        /// signaled.
        is_zombie: bool,
        /// Start time in clock ticks since boot. Together with the pid it distinguishes a process
        /// from a later one with the same pid.
        pub(crate) started: u64,
    }

    impl ProcessSnapshot {
        /// Reads the process with this pid; returns `None` if it is gone.
        pub(crate) fn from_pid(pid: Pid) -> Option<Self> {
            let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
            // The name is in parentheses and may contain any character, including these.
            let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
            let mut fields =
                std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
            Some(Self {
                pid,
                is_zombie: fields.next()? == "Z",
                parent: Pid::from_raw(fields.next()?.parse().ok()?),
                started: fields.nth(17)?.parse().ok()?,
            })
        }

        /// Signals the process, but not a later one with the same pid, and returns whether that
        /// worked.
        fn send_signal(&self, signal: Signal) -> bool {
            let handle = open_pidfd(self.pid);
            if Self::from_pid(self.pid).is_none_or(|now| now.started != self.started) {
                return false;
            }
            match handle {
                Ok(handle) => pidfd_send_signal(handle, signal).is_ok(),
                // Kernels before 5.3 and some sandboxes have no such handles.
                Err(Errno::NOSYS | Errno::PERM) => kill_process(self.pid, signal).is_ok(),
                Err(_) => false,
            }
        }
    }
}

/// Systems other than Linux have no subreaper, so a tree is its process group. A child that left
/// the group, or outlived its parent, is out of reach.
#[cfg(not(target_os = "linux"))]
mod other {
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

    /// Signals the process group of `main` once, if it has one of its own, and otherwise `main`
    /// itself.
    pub(crate) fn signal_descendants(main: Pid, signal: Signal, known: &mut KnownProcesses) -> u32 {
        if std::mem::replace(known, true) {
            return 0;
        }
        match kill_process_group(main, signal) {
            Err(Errno::SRCH) | Ok(()) => 0,
            Err(_) => u32::from(rustix::process::kill_process(main, signal).is_ok()),
        }
    }
}
