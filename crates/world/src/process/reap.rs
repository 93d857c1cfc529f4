//! The first step of recovery: ensures that no process of a run's old tree is left.

use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use unstuck_core::fault::{Fault, Internal};

use super::lock::RunLock;

const PAUSE: Duration = Duration::from_millis(5);

/// Takes the lock of a run whose supervisor may have died, once every process of that run is gone.
///
/// A guard that still holds the lock is at work: its supervisor is gone, so it ends its tree and
/// releases the lock. If the guard was killed as well, the lock is free and its tree may live: the
/// lock is taken, so that no guard can start a program meanwhile, and then every process with the
/// run's marker is killed. Each of the two steps has `patience`; an error means that a guard has
/// the lock, or that a process of the tree could not be killed. The lock is shared: two processes
/// that reap the same run do not disturb each other, and neither is mistaken for its guard.
///
/// The call blocks its thread.
pub fn reap_run(lock: &Path, patience: Duration) -> Result<RunLock, Fault> {
    let unusable = |error: io::Error| reap_fault(lock, "cannot be used").with_cause(error);
    let try_share = || RunLock::try_share(lock).map_err(unusable).transpose();
    let taken = retry_within(patience, try_share)
        .unwrap_or_else(|| Err(reap_fault(lock, "is still held")))?;
    end_tree(taken, patience)
}

#[cfg(not(target_os = "linux"))]
fn end_tree(lock: RunLock, _patience: Duration) -> Result<RunLock, Fault> {
    Ok(lock)
}

#[cfg(target_os = "linux")]
fn end_tree(mut lock: RunLock, patience: Duration) -> Result<RunLock, Fault> {
    use super::cgroup::Cgroup;

    let group = Cgroup::find_left_behind(&mut lock);
    let emptied = retry_within(patience, || match &group {
        Some(group) if group.is_populated() => {
            let _ = group.kill();
            None
        }
        _ => marked::end_all(lock.path()).then_some(()),
    });
    if emptied.is_none() {
        return Err(reap_fault(lock.path(), "is ours, but something of its last program lives on"));
    }
    if let Some(group) = group {
        group.remove();
    }
    Ok(lock)
}

/// Calls `ask` until it returns a value, for at most `patience`, and at least once.
fn retry_within<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let pauses = patience.as_millis() / PAUSE.as_millis();
    for _ in 0..pauses {
        match ask() {
            None => sleep(PAUSE),
            answer => return answer,
        }
    }
    ask()
}

fn reap_fault(lock: &Path, what: &str) -> Fault {
    let component = "process".to_owned();
    Fault::internal_error(
        "process.reap",
        format!("{} {what}", lock.display()),
        Internal { component },
    )
}

/// Processes with a run's marker.
#[cfg(target_os = "linux")]
mod marked {
    use std::fs;
    use std::path::Path;

    use rustix::process::{Pid, Signal, getpid, pidfd_send_signal};

    use crate::process::{marker, tree};

    /// Number of consecutive passes that have to find no process. One could be born and its parent
    /// die during a single pass without being seen; twice in a row is too unlikely.
    const LOOKS: u32 = 2;

    /// Kills every marked process, and returns whether there were none.
    pub(super) fn end_all(lock: &Path) -> bool {
        (0..LOOKS).all(|_| {
            let found = tree::list_pids()
                .filter(|pid| *pid != getpid())
                .filter(|pid| end_if_marked(*pid, lock));
            found.count() == 0
        })
    }

    /// Kills a process if it has the marker, and returns whether it has.
    ///
    /// The handle is opened first: if the process ends after that and its pid is reused, the handle
    /// still refers to the ended process, and the new one is not hit, whatever its marker.
    fn end_if_marked(pid: Pid, lock: &Path) -> bool {
        let Ok(handle) = tree::open_pidfd(pid) else { return false };
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let marked = marker::is_marked(&environment, lock);
        if marked {
            // It may have ended by now, and is then not found in the next pass.
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
        marked
    }
}
