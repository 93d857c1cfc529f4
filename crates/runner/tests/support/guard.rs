//! The guard as a program of its own: tests of this crate have no other executable to start again.

use std::process::ExitCode;

use unstuck_world::process::guard;

fn main() -> ExitCode {
    guard::main()
}
