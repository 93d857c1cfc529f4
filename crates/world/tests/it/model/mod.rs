//! The models behind an API, each with its real client, against the local service that fails on
//! demand.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod conformance;
mod conversation;
mod deadlines;
mod provider;
mod recorded;
mod server;
