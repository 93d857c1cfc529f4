//! Work that the agent did where no commit takes it from: another branch, a submodule, a file that git
//! ignores.

use unstuck_core::fault::{Fault, Validation};

/// What is checked, as the person and the agent read it.
const CHECK: &str = "the work is in files that git commits";

/// The fault of such work: `message` in one line, and what the agent is told.
pub(super) fn elsewhere(message: String, told: String) -> Fault {
    let context = Validation { command: CHECK.to_owned(), exit: None, output: told };
    Fault::validation_pre_commit("workspace:elsewhere", message, context)
}
