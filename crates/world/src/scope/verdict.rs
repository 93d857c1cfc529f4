//! What the fence says about a set of changes.

use std::path::{Path, PathBuf};

use unstuck_core::fault::{Fault, Files, Permission};

/// Where faults of the fence are raised.
pub(super) const SOURCE: &str = "scope";

/// How one path stands to the fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may be changed.
    Inside,
    /// It must not be changed.
    Forbidden,
    /// It is not among the paths that may be changed.
    Outside,
    /// A person has to be asked first.
    Ask,
}

/// What the fence says about a set of changes, in the order they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Paths that must not be changed.
    pub forbidden: Vec<PathBuf>,
    /// Paths that are not among those that may be changed.
    pub outside: Vec<PathBuf>,
    /// Paths that a person has to be asked about.
    pub ask: Vec<PathBuf>,
}

impl Verdict {
    /// Whether everything is inside.
    pub const fn is_clean(&self) -> bool {
        self.forbidden.is_empty() && self.outside.is_empty() && self.ask.is_empty()
    }

    /// What has to be taken back whatever a person says.
    pub fn out_of_scope(&self) -> Vec<PathBuf> {
        self.forbidden.iter().chain(&self.outside).cloned().collect()
    }

    /// The fault it is, with the place where the change that was taken back is kept. What is
    /// forbidden weighs more than what is outside, and that more than what is to be asked.
    pub fn fault(&self, patch: Option<&Path>) -> Option<Fault> {
        let files = |paths: &[PathBuf]| Files {
            files: names(paths),
            patch: patch.map(|patch| patch.display().to_string()),
        };
        if !self.forbidden.is_empty() {
            let message = format!("forbidden: {}", names(&self.forbidden).join(", "));
            return Some(Fault::scope_forbidden(SOURCE, message, files(&self.forbidden)));
        }
        if !self.outside.is_empty() {
            let message = format!("outside: {}", names(&self.outside).join(", "));
            return Some(Fault::scope_outside_allowed(SOURCE, message, files(&self.outside)));
        }
        (!self.ask.is_empty()).then(|| {
            let what = names(&self.ask).join(", ");
            let message = format!("to be asked about: {what}");
            Fault::permission_file_access(
                SOURCE,
                message,
                Permission { what, ..Permission::default() },
            )
        })
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}
