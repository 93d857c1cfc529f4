//! The outside world against the real thing: git, programs, sandboxes, services and files.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::result_large_err,
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod egress;
mod git;
mod model;
mod notify;
mod provider;
mod redact;
mod scope;
mod support;
mod tool;
mod validate;
mod wall;
mod workspace;
