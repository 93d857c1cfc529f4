//! The models behind an API, each with its real client, against the local service that fails on
//! demand.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod server;
