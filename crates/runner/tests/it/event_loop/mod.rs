//! The loop, driven in virtual time against the store in memory.

mod answering;
mod checkpointing;
mod counting;
mod crashing;
mod deciding;
mod ending;
mod failing;
mod ledger;
mod sleeping;
mod turns;
mod virtual_loop;
mod waiting;
