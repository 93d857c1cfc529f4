//! The tools of a model, on real files and with real commands under the real guard.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod commands;
mod files;
mod looking;
mod specs;
mod stage;
mod typed;
