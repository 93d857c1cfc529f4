//! Who does the thinking: models behind an API, each with its own wire format.
//!
//! A provider's folder has `wire.rs` (what goes over the wire, as types), `parse.rs` (pure: from
//! what came to what it means) and `mod.rs` (the client). What they share is in `http/`: one
//! exchange, its deadlines, and the one mapping from what a service said to a fault.
//! The design is in `docs/design/providers.md`.

pub mod anthropic_api;
mod credential;
mod http;
pub mod openai_api;
pub mod prices;
pub mod sse;

pub use credential::{Credential, gate};
pub use http::{Deadlines, Settings};
