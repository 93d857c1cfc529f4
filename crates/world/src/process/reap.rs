//! What recovery does first: it sees to it that nothing of a run's old tree is left.

use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use unstuck_core::fault::{Fault, Internal};

use super::lock::Lock;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Takes the lock of a run whose supervisor may have died, with everything that it ran gone.
///
/// A guard that still holds the lock is at work: its supervisor is gone, so it ends its tree and
/// lets go. If the guard was killed as well, the lock is free and its tree may live: the lock is
/// taken, so that nobody starts anything meanwhile, and then every process that carries the run's
/// mark is killed. Both have `patience`; an error means that a guard has the lock, or that something
/// of the tree could not be ended. The lock is shared: two that clear away the same run do not
/// disturb each other, and neither is taken for its guard.
///
/// This waits, and blocks its thread.
pub fn reap(lock: &Path, patience: Duration) -> Result<Lock, Fault> {
    let unusable = |error: io::Error| fault(lock, "cannot be used").caused_by(error);
    let try_share = || Lock::try_share(lock).map_err(unusable).transpose();
    let taken = within(patience, try_share).unwrap_or_else(|| Err(fault(lock, "is still held")))?;
    end_tree(taken, patience)
}

#[cfg(not(target_os = "linux"))]
fn end_tree(lock: Lock, _patience: Duration) -> Result<Lock, Fault> {
    Ok(lock)
}

#[cfg(target_os = "linux")]
fn end_tree(mut lock: Lock, patience: Duration) -> Result<Lock, Fault> {
    use super::cgroup::Cgroup;

    let group = Cgroup::left_behind(&mut lock);
    let emptied = within(patience, || match &group {
        Some(group) if group.is_populated() => {
            let _ = group.kill();
            None
        }
        _ => marked::end_all(lock.path()).then_some(()),
    });
    if emptied.is_none() {
        return Err(fault(lock.path(), "is ours, but something of its last program lives on"));
    }
    if let Some(group) = group {
        group.remove();
    }
    Ok(lock)
}

/// Asks until there is an answer, at most as long as `patience`, and at least once.
fn within<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let pauses = patience.as_millis() / PAUSE.as_millis();
    for _ in 0..pauses {
        match ask() {
            None => sleep(PAUSE),
            answer => return answer,
        }
    }
    ask()
}

fn fault(lock: &Path, what: &str) -> Fault {
    let component = "process".to_owned();
    Fault::internal_error(
        "process.reap",
        format!("{} {what}", lock.display()),
        Internal { component },
    )
}

/// Processes that carry a run's mark.
#[cfg(target_os = "linux")]
mod marked {
    use std::fs;
    use std::path::Path;

    use rustix::process::{Pid, Signal, getpid, pidfd_send_signal};

    use crate::process::{marker, tree};

    /// A process may be born and its parent die while we look from one to the next; two looks in a
    /// row that find nothing make that a coincidence too many.
    const LOOKS: u32 = 2;

    /// Kills those that are there; whether there were none.
    pub(super) fn end_all(lock: &Path) -> bool {
        (0..LOOKS).all(|_| {
            let found = tree::all().filter(|pid| *pid != getpid()).filter(|pid| end(*pid, lock));
            found.count() == 0
        })
    }

    /// Kills a process that carries the mark; whether it does.
    ///
    /// The handle comes first: if the process ends and its number goes to another one after that,
    /// the handle means the one that has ended, and the other is not hit whatever it carries.
    fn end(pid: Pid, lock: &Path) -> bool {
        let Ok(handle) = tree::pidfd(pid) else { return false };
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let marked = marker::is_in(&environment, lock);
        if marked {
            // It may have ended by now, and then it is found no more.
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
        marked
    }
}
