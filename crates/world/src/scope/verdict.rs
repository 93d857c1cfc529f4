//! The result of judging a set of changes.

use std::path::{Path, PathBuf};

use unstuck_core::fault::{Fault, Files, Permission};

/// The source name of faults of the scope.
pub(super) const SOURCE: &str = "scope";

/// The standing of a path in the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathVerdict {
    /// The path may be changed.
    Inside,
    /// The path must not be changed.
    Forbidden,
    /// The path is not among those that may be changed.
    Outside,
    /// The operator has to be asked first.
    Ask,
}

/// The result of judging a set of changes, in the order they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeVerdict {
    /// Paths that must not be changed.
    pub forbidden: Vec<PathBuf>,
    /// Paths that are not among those that may be changed.
    pub outside: Vec<PathBuf>,
    /// Paths that the operator has to be asked about.
    pub ask: Vec<PathBuf>,
}

impl ScopeVerdict {
    /// Returns whether all paths are inside.
    pub const fn is_clean(&self) -> bool {
        self.forbidden.is_empty() && self.outside.is_empty() && self.ask.is_empty()
    }

    /// Returns the paths that have to be reverted regardless of the operator's answer.
    pub fn out_of_scope(&self) -> Vec<PathBuf> {
        self.forbidden.iter().chain(&self.outside).cloned().collect()
    }

    /// Returns the fault, with the file in which the reverted change is kept. Forbidden paths take
    /// precedence over those outside, and these over those to be asked about.
    pub fn to_fault(&self, patch: Option<&Path>) -> Option<Fault> {
        let files = |paths: &[PathBuf]| Files {
            files: display_paths(paths),
            patch: patch.map(|patch| patch.display().to_string()),
        };
        if !self.forbidden.is_empty() {
            let message = format!("forbidden: {}", display_paths(&self.forbidden).join(", "));
            return Some(Fault::scope_forbidden(SOURCE, message, files(&self.forbidden)));
        }
        if !self.outside.is_empty() {
            let message = format!("outside: {}", display_paths(&self.outside).join(", "));
            return Some(Fault::scope_outside_allowed(SOURCE, message, files(&self.outside)));
        }
        (!self.ask.is_empty()).then(|| {
            let what = display_paths(&self.ask).join(", ");
            let message = format!("to be asked about: {what}");
            Fault::permission_file_access(
                SOURCE,
                message,
                Permission { what, ..Permission::default() },
            )
        })
    }
}

fn display_paths(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}
