//! The loop, driven in virtual time against the store in memory.

#![expect(
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod answering;
mod checkpointing;
mod counting;
mod crashing;
mod deciding;
mod ending;
mod failing;
mod ledger;
mod sleeping;
mod stage;
mod turns;
mod waiting;
