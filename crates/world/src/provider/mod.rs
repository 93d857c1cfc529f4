//! Who does the thinking: agent programs, each with its own wire format.
//!
//! A provider's folder has `wire.rs` (what it writes, as types), `parse.rs` (pure: from what it
//! writes to what that means) and `mod.rs` (how it is started and run). What agent programs share
//! is in `program/`; the way in to an account in `account.rs`.
//! The design is in `docs/design/providers.md`.

mod account;
pub mod claude_cli;
pub mod codex_cli;
mod program;
pub mod script;
mod status;

pub use account::{Account, Key};
pub use program::{LINE_BYTES_MAX, Lines, find};
