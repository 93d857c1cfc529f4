//! Helpers that several parts are tested with.

pub(crate) mod task_worktree;

use unstuck_world::process::GuardCommand;

/// The guard of this crate's tests.
pub(crate) fn guard() -> GuardCommand {
    let executable = env!("CARGO_BIN_EXE_unstuck-guard").into();
    GuardCommand { executable, arguments: Vec::new() }
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
