//! The scope of a task: the paths that it may change.
//!
//! [`PathScope`] judges changed paths, after the fact and regardless of who changed them; this is
//! the safety net. [`PathScope::admit_path`] checks one path before a tool touches it, so that most
//! mistakes do not happen at all; its module states what it guarantees.

mod admit;
mod patterns;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod scope;

pub use admit::{PathAccess, resolve_in_folder};
pub use patterns::BadPattern;
pub use patterns::place_patterns;
pub(crate) use patterns::{CaseMatching, PathPatterns};
pub use scope::{PathScope, PathVerdict, ScopeMode, ScopeRules, ScopeVerdict};
