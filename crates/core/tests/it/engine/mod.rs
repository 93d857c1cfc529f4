//! The engine, told as stories: what happens, and what it leads to.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod apart;
mod base;
mod budget;
mod control;
mod gates;
mod git;
mod inside;
mod jobs;
mod journal;
mod ledger;
mod questions;
mod reactions;
mod recovery;
mod repairs;
mod replanning;
mod sessions;
mod story;
mod telling;
mod unchanged;
mod wording;
