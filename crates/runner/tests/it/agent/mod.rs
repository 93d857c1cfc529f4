//! The loop around a model: the real loop, runner, tools, worktrees and client, against a local
//! service that answers by a script.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod asking;
mod crashing;
mod failing;
mod refused;
mod stage;
mod waiting;
pub(crate) mod wire;
mod working;
