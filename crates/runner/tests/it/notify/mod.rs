//! People are told what happened, at least once and never twice under two names.

mod crashing;
pub(crate) mod decided_project;
mod quiet;
mod telling;
mod trying;
