//! The runner with real processes, real git and real stores.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod agent;
mod build;
mod control;
mod event_loop;
mod notify;
mod repair;

use unstuck_world::process::GuardCommand;

/// The guard of this crate's tests.
fn guard() -> GuardCommand {
    let executable = env!("CARGO_BIN_EXE_runner-test-guard").into();
    GuardCommand { executable, arguments: Vec::new() }
}
