//! Messages reach their receivers, by every way there is.

#![expect(
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod chats;
mod failing;
mod mail;
mod programs;
mod settings;
mod stage;
mod webhook;
