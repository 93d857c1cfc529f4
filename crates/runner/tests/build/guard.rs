//! The guard as a program of its own.

fn main() -> std::process::ExitCode {
    unstuck_world::process::guard::main(std::env::args_os().skip(1))
}
