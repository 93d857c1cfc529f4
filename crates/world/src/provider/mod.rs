//! Who does the thinking: agent programs and models behind an API, each with its own wire format.
//!
//! A provider's folder has `wire.rs` (what goes over the wire, as types), `parse.rs` (pure: from
//! what came to what it means) and `mod.rs` (how it is run or called). What agent programs share
//! is in `program/`, the way in to an account in `account.rs`; what models share is in `http/`: one
//! exchange, its deadlines, and the one mapping from what a service said to a fault.
//! The design is in `docs/design/providers.md`.

mod account;
pub mod anthropic_api;
pub mod claude_cli;
pub mod codex_cli;
mod credential;
mod http;
pub mod openai_api;
pub mod prices;
mod program;
pub mod script;
pub mod sse;

pub use account::{Account, Key};
pub use credential::{Credential, gate};
pub use http::{Deadlines, Proxies, Settings};
pub(crate) use http::{Head, client as http_client};
pub use program::{LINE_BYTES_MAX, Lines, find, version};
