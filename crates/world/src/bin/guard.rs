//! The guard as a program of its own. `unstuck` is its own guard; this one is for programs that
//! use the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    unstuck_world::process::guard::main()
}
