//! Starting a program of our size takes milliseconds: it is mapped, linked and set up. A process
//! that has barely begun is copied in a fraction of that, and the copy has all that a guard needs.

use std::fs;
use std::io::{self, PipeReader, PipeWriter};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::Pid;
use rustix::thread::set_name;

use super::super::keep::{Streams, keep};

/// A guard that was made ahead, with our ends of its pipes. It reads what we would read. Dropping
/// it ends it.
#[derive(Debug)]
pub struct Forked {
    pub(in crate::process) pid: Pid,
    pub(in crate::process) control: PipeWriter,
    pub(in crate::process) status: PipeReader,
    pub(in crate::process) stdout: PipeReader,
    pub(in crate::process) stderr: PipeReader,
}

/// Makes a guard out of a copy of this process. None once there is a second thread, whose locks
/// would stay taken in the copy for ever, or where the system makes no copy.
pub fn fork() -> Option<Forked> {
    if !is_alone() {
        return None;
    }
    let (control, ours_control) = io::pipe().ok()?;
    let (ours_status, status) = io::pipe().ok()?;
    let (ours_stdout, stdout) = io::pipe().ok()?;
    let (ours_stderr, stderr) = io::pipe().ok()?;
    let Some(pid) = copy().ok()? else {
        // The guard must see the end of its supervisor, so it must not hold the other ends itself.
        drop((ours_control, ours_status, ours_stdout, ours_stderr));
        // A panic must not run on through whatever its supervisor was about to do.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            // Only how it is listed.
            let _ = set_name(c"unstuck-guard");
            keep(&control, &status, Some(Streams { stdout, stderr }));
        }));
        end();
    };
    Some(Forked {
        pid,
        control: ours_control,
        status: ours_status,
        stdout: ours_stdout,
        stderr: ours_stderr,
    })
}

/// Whether this process has a single thread.
fn is_alone() -> bool {
    fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

/// Makes a copy of this process; the copy gets none.
#[expect(unsafe_code, reason = "a copy is sound only where there is a single thread")]
fn copy() -> io::Result<Option<Pid>> {
    // SAFETY: there is no other thread, so that no lock is left taken for ever in the copy.
    match unsafe { libc::fork() } {
        0 => Ok(None),
        child @ 1.. => Ok(Pid::from_raw(child)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends the copy, without what a process does at its end: that is for the one it was copied from.
#[expect(unsafe_code, reason = "there is no safe way to leave nothing undone twice")]
fn end() -> ! {
    // SAFETY: it does not come back, and nothing of this process is needed for it.
    unsafe { libc::_exit(0) }
}
