//! Starts a program as a member of a control group from its first moment.
//!
//! The standard library cannot do that, because it does not make the system call that this takes.
//! After the call, the standard library takes over again.

use std::io::{self, Read as _, Write as _};
use std::mem;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions, waitpid};

/// Clone flag: reset every handled signal to its default action in the child.
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
/// Clone flag: create the child in another control group.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Starts `command` in the control group `group`. Returns `None` if no process can be created
/// there: the kernel is too old, a sandbox forbids it, or the group accepts no members. An error is
/// about the program itself.
pub(super) fn start_in(group: BorrowedFd<'_>, command: &mut Command) -> io::Result<Option<Pid>> {
    // Both ends are closed on exec: the end of the pipe without a message means success.
    let (mut complaint, mut complain) = io::pipe()?;
    let born = match fork_into(group) {
        Ok(Some(child)) => child,
        Ok(None) => {
            let error = command.exec();
            let number = error.raw_os_error().unwrap_or_default();
            let _ = complain.write_all(&number.to_ne_bytes());
            exit_child()
        }
        Err(_) => return Ok(None),
    };
    drop(complain);
    let mut number = [0; 4];
    if complaint.read_exact(&mut number).is_err() {
        return Ok(Some(born));
    }
    // No other code waits for the child.
    let _ = waitpid(Some(born), WaitOptions::empty());
    Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
}

/// Forks this process into a control group; returns `None` in the child.
#[expect(unsafe_code, reason = "only the bare call can name the group that a process is born in")]
fn fork_into(group: BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    let arguments = libc::clone_args {
        flags: CLONE_INTO_CGROUP | CLONE_CLEAR_SIGHAND,
        exit_signal: u64::from(Signal::CHILD.as_raw().unsigned_abs()),
        cgroup: u64::from(group.as_raw_fd().unsigned_abs()),
        // SAFETY: all fields are numbers, and zero means "not used" for each of them.
        ..unsafe { mem::zeroed() }
    };
    // SAFETY: this is a fork: memory is copied and not shared, and the arguments outlive the call.
    // No other thread of a guard is running meanwhile, so no lock stays taken forever in the child.
    let child = unsafe {
        libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>())
    };
    match i32::try_from(child) {
        Ok(0) => Ok(None),
        Ok(child @ 1..) => Ok(Pid::from_raw(child)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends the child that could not exec, without running exit handlers: those belong to the parent.
#[expect(unsafe_code, reason = "there is no safe way to leave nothing undone twice")]
fn exit_child() -> ! {
    // SAFETY: the call does not return, and needs no state of this process.
    unsafe { libc::_exit(127) }
}
