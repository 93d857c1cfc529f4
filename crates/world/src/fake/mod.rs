//! Stand-ins for the outside, so that everything can be shown and proved without it.

pub mod receiver;
pub mod server;
