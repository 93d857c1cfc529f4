//! The providers: agent programs and models behind an API, each with its own wire format.
//!
//! A provider's folder has the wire format as types and the interpretation of the input, without
//! I/O (`wire.rs` and `parse.rs`, or one file per protocol), and in `mod.rs` how the provider is
//! run or called. The common parts of agent programs are in `program/`, the credentials in
//! `account.rs`, the login that is lent to a program in `login.rs`; the common parts of models are in `http/`: an exchange, its deadlines, and the
//! single mapping from a service's response to a fault. The design is in
//! `docs/design/providers.md`.

mod account;
pub mod anthropic_api;
pub mod claude_cli;
pub mod codex_cli;
mod http;
mod login;
pub mod openai_api;
pub mod prices;
mod program;
pub mod script;
pub mod sse;

pub use account::{AccountAuth, AccountKey, Credential, derive_gate_key};
pub use http::{ModelSettings, Proxies, TurnDeadlines};
pub(crate) use http::{ResponseHead, build_client as http_client, find_root_cause, read_response};
pub use login::take_logins_back;
pub use program::{LINE_BYTES_MAX, LineSplitter, find_program, query_version};
