//! The guard as a program of its own, for programs that use the library. `unstuck` is its own
//! guard.

use std::process::ExitCode;

fn main() -> ExitCode {
    unstuck_world::process::guard::main()
}
