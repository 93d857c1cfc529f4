//! The guard: a small process between a supervisor and a program, which ends all processes of the
//! program together.
//!
//! The guard is Unstuck's own executable, started again with [`ARGUMENT`]; `main` calls [`main`]
//! before any other step. A process that has just started may fork instead: `fork/`. The guard
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
mod inherited;
mod inside;
mod keep;
mod order;
pub(super) mod report;
mod signals;

use std::process::ExitCode;

pub use fork::{ForkedGuard, fork_guard};
pub(super) use order::GuardOrder;
pub use order::TerminalSession;

#[cfg(target_os = "linux")]
use super::wall::inner;

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
    if std::env::args_os().nth(2).is_some_and(|second| second == inner::ARGUMENT) {
        return inner::main(std::env::args_os().skip(3));
    }
    match inherited::take_pipes() {
        Ok((control, status)) => {
            keep::run_guard(&control, &status, None);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::from(MISUSED),
    }
}
