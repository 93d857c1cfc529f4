//! The fault of work in a place that no commit covers: another branch, a submodule, a file that git
//! ignores.

use unstuck_core::fault::{Fault, Validation};

/// The name of the failed check, as the operator and the agent read it.
const CHECK: &str = "the work is in files that git commits";

/// Returns the fault of such work: `message` is one line, `told` the text for the agent.
pub(super) fn misplaced_work_fault(message: String, told: String) -> Fault {
    let context = Validation { command: CHECK.to_owned(), exit: None, output: told };
    Fault::validation_pre_commit("workspace:elsewhere", message, context)
}
