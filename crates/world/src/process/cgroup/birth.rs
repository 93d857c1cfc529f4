//! Starting a program that is a member of a control group from its first moment.
//!
//! The standard library cannot do that: it takes a call of the kernel that it does not make. What
//! comes after the call is its work again.

use std::io::{self, Read as _, Write as _};
use std::mem;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions, waitpid};

/// The child has the default action for every signal that we handle.
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
/// The child is born in another group than ours.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Starts `command` in the group behind `group`. None where no process can be born there: the kernel
/// is too old, a sandbox forbids it, or the group takes nobody. An error is the program's own.
pub(super) fn start_in(group: BorrowedFd<'_>, command: &mut Command) -> io::Result<Option<Pid>> {
    // Both ends are closed by what the child becomes: nothing to read means that it became it.
    let (mut complaint, mut complain) = io::pipe()?;
    let born = match fork_into(group) {
        Ok(Some(child)) => child,
        Ok(None) => {
            let error = command.exec();
            let number = error.raw_os_error().unwrap_or_default();
            let _ = complain.write_all(&number.to_ne_bytes());
            end()
        }
        Err(_) => return Ok(None),
    };
    drop(complain);
    let mut number = [0; 4];
    if complaint.read_exact(&mut number).is_err() {
        return Ok(Some(born));
    }
    // Nothing else waits for it.
    let _ = waitpid(Some(born), WaitOptions::empty());
    Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
}

/// Makes a copy of this process in a group; the copy gets none.
#[expect(unsafe_code, reason = "only the bare call can name the group that a process is born in")]
fn fork_into(group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    let arguments = libc::clone_args {
        flags: CLONE_INTO_CGROUP | CLONE_CLEAR_SIGHAND,
        exit_signal: u64::from(Signal::CHILD.as_raw().unsigned_abs()),
        cgroup: u64::from(group.as_raw_fd().unsigned_abs()),
        // SAFETY: all of its fields are numbers, and zero means "not used" for each of them.
        ..unsafe { mem::zeroed() }
    };
    // SAFETY: it is a fork: memory is copied and not shared, and the arguments live as long as the
    // call. A guard has one thread, so that no lock is left taken for ever in the copy.
    let child = unsafe {
        libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>())
    };
    match i32::try_from(child) {
        Ok(0) => Ok(None),
        Ok(child @ 1..) => Ok(Pid::from_raw(child)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends the copy that became nothing, without what a process does at its end: that is ours to do.
#[expect(unsafe_code, reason = "there is no safe way to leave nothing undone twice")]
fn end() -> ! {
    // SAFETY: it does not come back, and nothing of this process is needed for it.
    unsafe { libc::_exit(127) }
}
