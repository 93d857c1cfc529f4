//! Stand-ins for external services, so that tests, drill and demo need no network.

mod listener;
pub mod receiver;
pub mod server;
