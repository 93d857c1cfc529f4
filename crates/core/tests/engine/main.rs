//! The engine, told as stories: what happens, and what it leads to.

mod budget;
mod control;
mod gates;
mod git;
mod jobs;
mod ledger;
mod questions;
mod reactions;
mod recovery;
mod replanning;
mod stage;
