//! Builds on real repositories: real git, real checks, the real loop; only the agents, or the services
//! that models are behind, are scripted.

#![expect(
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod agents_failing;
mod asking;
mod calling;
mod checking;
mod declaring;
mod ending;
mod fencing;
mod fifo;
mod going_on;
mod in_place;
mod keeping_secrets;
mod landing;
mod merging;
mod pushing;
mod replanning;
pub(crate) mod repo;
mod reporting;
mod room;
mod scripts;
mod service;
mod spending;
mod stage;
mod telling;
mod thinking;

use crate::agent::wire;
