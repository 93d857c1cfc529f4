//! People are told what happened, at least once and never twice under two names.

#![expect(
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod crashing;
mod quiet;
mod stage;
mod telling;
mod trying;
