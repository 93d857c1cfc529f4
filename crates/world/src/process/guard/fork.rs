//! A guard that is a fork of this process instead of a new start of the executable.

#[cfg(target_os = "linux")]
pub use linux::{ForkedGuard, fork_guard};
#[cfg(not(target_os = "linux"))]
pub use other::{ForkedGuard, fork_guard};

/// Creates a guard by forking. Starting an executable of Unstuck's size takes milliseconds: it is
/// mapped, linked and set up. Forking a process that has just started takes a fraction of that, and
/// the child has everything that a guard needs.
#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io::{self, PipeReader, PipeWriter};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rustix::process::Pid;
    use rustix::thread::set_name;

    use super::super::keep::{GuardStreams, run_guard};
    use crate::process::cgroup::exit_child;

    /// A guard that was forked ahead, with the supervisor's ends of its pipes. It reads the
    /// standard input of this process. Dropping it ends the guard.
    #[derive(Debug)]
    pub struct ForkedGuard {
        pub(in crate::process) pid: Pid,
        pub(in crate::process) control: PipeWriter,
        pub(in crate::process) status: PipeReader,
        pub(in crate::process) stdout: PipeReader,
        pub(in crate::process) stderr: PipeReader,
    }

    /// Forks a guard from this process. Returns `None` if there is a second thread, whose locks
    /// would stay taken forever in the child, or if the system cannot fork.
    pub fn fork_guard() -> Option<ForkedGuard> {
        if !is_single_threaded() {
            return None;
        }
        let (control, ours_control) = io::pipe().ok()?;
        let (ours_status, status) = io::pipe().ok()?;
        let (ours_stdout, stdout) = io::pipe().ok()?;
        let (ours_stderr, stderr) = io::pipe().ok()?;
        let Some(pid) = fork_process().ok()? else {
            // The guard has to notice the end of its supervisor, so it must not hold the other ends
            // itself.
            drop((ours_control, ours_status, ours_stdout, ours_stderr));
            // A panic must not unwind into the code of the supervisor.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                // The name only matters in process listings.
                let _ = set_name(c"unstuck-guard");
                run_guard(&control, &status, Some(GuardStreams { stdout, stderr }));
            }));
            exit_child(0);
        };
        Some(ForkedGuard {
            pid,
            control: ours_control,
            status: ours_status,
            stdout: ours_stdout,
            stderr: ours_stderr,
        })
    }

    fn is_single_threaded() -> bool {
        fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
    }

    /// Forks this process; returns `None` in the child.
    #[expect(unsafe_code, reason = "a copy is sound only where there is a single thread")]
    fn fork_process() -> io::Result<Option<Pid>> {
        // SAFETY: there is no other thread, so no lock stays taken forever in the child.
        match unsafe { libc::fork() } {
            0 => Ok(None),
            child @ 1.. => Ok(Pid::from_raw(child)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Systems other than Linux do not tell whether a process has a single thread, so no guard is
/// forked.
#[cfg(not(target_os = "linux"))]
mod other {
    /// An uninhabited type: there is no forked guard.
    #[derive(Debug)]
    pub enum ForkedGuard {}

    /// Returns `None`.
    pub const fn fork_guard() -> Option<ForkedGuard> {
        None
    }
}
