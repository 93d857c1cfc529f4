//! The loop, driven in virtual time against the store in memory.

mod answering;
mod crashing;
mod deciding;
mod ending;
mod failing;
mod ledger;
mod stage;
mod waiting;
