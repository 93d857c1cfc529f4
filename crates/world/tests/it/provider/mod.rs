//! Agent programs: what they write, how they are run, and the real ones against a local service.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step fails the test")]

mod claude;
mod codex;
mod preflight;
mod programs;
mod stage;
mod suite;
