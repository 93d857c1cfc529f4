//! The models behind an API, each with its real client, against the local service that fails on
//! demand.

mod conformance;
mod conversation;
mod deadlines;
mod provider;
mod recorded;
mod server;
