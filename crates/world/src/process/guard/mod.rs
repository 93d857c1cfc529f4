//! The guard: a small process between a supervisor and a program, which ends all processes of the
//! program together.
//!
//! The guard is Unstuck's own executable, started again with [`ARGUMENT`]; `main` calls [`main`]
//! before any other step. A process that has just started may fork instead: `fork.rs`. The guard
//! waits for its order, takes the run's lock, starts the program, adopts every process that the
//! program leaves behind (children in sessions of their own and daemons too), and releases the lock
//! only when all of them are gone. The supervisor holds the other end of the pipe that carried the
//! order: a byte on it ends the tree within its grace period, and if the pipe closes, because the
//! supervisor died, the tree is killed at once. The result is reported through a second pipe, one
//! JSON object per line: see `report.rs`.
//!
//! Out of reach are only processes that another service starts on the program's behalf (a service
//! manager, a container daemon), and processes of another user that may not be signaled: for those
//! the guard waits and keeps the lock.

mod fork;
mod keep;
mod order;
pub(super) mod report;
mod signals;
#[cfg(target_os = "linux")]
mod stage;

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::process::ExitCode;

use rustix::io::{FdFlags, fcntl_setfd};

pub use fork::{ForkedGuard, fork_guard};
pub(super) use order::GuardOrder;
pub use order::TerminalSession;

/// The argument that makes the executable a guard.
pub const ARGUMENT: &str = "__guard";

/// The descriptor from which the guard reads its order, and on which it then notices its
/// supervisor's end.
pub(super) const CONTROL: i32 = 3;
/// The byte that a supervisor writes there to end the tree.
pub(super) const END: u8 = b'.';
/// The descriptor to which the guard reports.
pub(super) const STATUS: i32 = 4;

/// Exit code if the caller is not a supervisor.
const MISUSED: u8 = 64;

/// Runs a guard, from its order to its end. A guard without an order ends with its supervisor.
/// Inside the namespaces of a wall the same executable is the init process around the program.
pub fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(2).is_some_and(|second| second == stage::ARGUMENT) {
        return stage::main(std::env::args_os().skip(3));
    }
    match take_pipes() {
        Ok((control, status)) => {
            keep::run_guard(&control, &status, None);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::from(MISUSED),
    }
}

/// Takes over both pipes; processes that the guard starts do not inherit them.
fn take_pipes() -> rustix::io::Result<(PipeReader, PipeWriter)> {
    let control = own_descriptor(CONTROL)?;
    let status = own_descriptor(STATUS)?;
    Ok((control.into(), status.into()))
}

#[expect(unsafe_code, reason = "a number becomes a descriptor: only we know that it is ours")]
fn own_descriptor(number: RawFd) -> rustix::io::Result<OwnedFd> {
    // SAFETY: this process has opened no file yet, so a descriptor with this number was put there
    // by the process that started it, for it alone. If there is none, the call fails and no
    // descriptor is owned.
    unsafe {
        fcntl_setfd(BorrowedFd::borrow_raw(number), FdFlags::CLOEXEC)?;
        Ok(OwnedFd::from_raw_fd(number))
    }
}
