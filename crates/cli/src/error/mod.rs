//! Errors of the program itself, with their next steps as data.
//!
//! They are not faults. A [fault](unstuck_core::fault) is a failure of the work that Unstuck looks after;
//! an error here is a command that could not be carried out.

#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod error;
mod land;
mod verbs;

pub(crate) use error::{CliError, NO_AGENT_SOURCE, internal_fault};
pub(crate) use land::LandError;
pub(crate) use verbs::{InboxError, JobsError, ScriptError, ServeError, TasksError};

/// Returns a single next step.
/// Returns the hint for a mistyped name, before the one that says where all names are.
pub(crate) fn near_hint(near: &[impl AsRef<str>]) -> Option<String> {
    let names: Vec<&str> = near.iter().map(AsRef::as_ref).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")))
}

fn one_hint(hint: impl Into<String>) -> Vec<String> {
    vec![hint.into()]
}
