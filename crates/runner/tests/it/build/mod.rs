//! Builds on real repositories: real git, real checks, the real loop; only the agents, or the services
//! that models are behind, are scripted.

mod agents_failing;
mod asking;
mod build_project;
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
mod reporting;
mod room;
mod scripts;
mod spending;
mod telling;
mod thinking;

use crate::agent::wire;
