//! The guard: a small process between a supervisor and a program, which ends all of the program's
//! processes together.
//!
//! It is our own executable, started again with [`ARGUMENT`]; `main` hands over to [`main`] before
//! it does anything else. A process that has just begun may make a copy of itself instead: `fork/`.
//! The guard waits for its order, takes the run's lock, starts the program,
//! adopts whatever the program leaves behind (children in sessions of their own and daemons too),
//! and lets go of the lock only when all of it is gone. Its supervisor holds the other end of the
//! pipe that the order came through: a word on it ends the tree within its grace, and when it closes,
//! because the supervisor died, the tree ends at once. How it went is said through a second pipe, one JSON object per line: see
//! `report.rs`.
//!
//! Out of reach is only what somebody else starts on the program's behalf (a service manager, a
//! container daemon), and processes of another user that may not be signalled: for those the guard
//! waits, lock in hand.

mod fork;
mod inherited;
mod inside;
mod keep;
mod order;
pub(super) mod report;
mod signals;

use std::process::ExitCode;

pub use fork::{Forked, fork};
pub(super) use order::Order;
pub use order::Session;

#[cfg(target_os = "linux")]
use super::wall::inner;

/// The argument that makes our executable a guard.
pub const ARGUMENT: &str = "__guard";

/// The descriptor from which the guard reads its order, and then waits for its supervisor's end.
pub(super) const CONTROL: i32 = 3;
/// What a supervisor writes there to have the tree ended.
pub(super) const END: u8 = b'.';
/// The descriptor to which the guard reports.
pub(super) const STATUS: i32 = 4;

/// Called by something that is not our supervisor.
const MISUSED: u8 = 64;

/// What a guard does, from its order to its end. One that gets no order ends with its supervisor. Inside
/// the namespaces of a wall the same executable is the stage around the program.
pub fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(2).is_some_and(|second| second == inner::ARGUMENT) {
        return inner::main(std::env::args_os().skip(3));
    }
    match inherited::pipes() {
        Ok((control, status)) => {
            keep::keep(&control, &status, None);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::from(MISUSED),
    }
}
