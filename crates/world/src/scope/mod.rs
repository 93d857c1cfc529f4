//! The fence: which paths a task may change.
//!
//! [`Scope`] judges paths that changed, after the fact and whoever changed them; that is the net.
//! [`Scope::admit`] looks at one path before a tool touches it, so that most mistakes do not happen
//! at all; see there for what it can promise.

mod admit;
mod patterns;
mod private;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod scope;
mod verdict;

pub use admit::Access;
pub use patterns::BadPattern;
pub(crate) use patterns::{Case, Patterns};
pub use scope::{Mode, Rules, Scope};
pub use verdict::{Standing, Verdict};
