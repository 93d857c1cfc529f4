//! A simulator for the engine: a world that fails in every way the fault table names, people who answer at
//! the wrong time, a runner that crashes between any two steps, and checks of the engine's invariants
//! throughout.
//!
//! Everything follows from a seed: no clock, no threads, no external randomness. It stands in for the runner
//! and the world; it is not a test of them.
//!
//! In addition, [`store`] is a conformance suite for stores, driven by the same engine, `healing` is the
//! benchmark that compares Unstuck with simpler supervisors, and `stage` sets up what the tests of several
//! crates need.

pub mod chance;
pub mod check;
pub mod driver;
pub mod faults;
#[cfg(feature = "healing")]
pub mod healing;
pub mod moves;
pub mod people;
pub mod plans;
pub mod profile;
pub mod remote_side;
pub mod run;
pub mod search;
#[cfg(feature = "files")]
pub mod stage;
pub mod store;
pub mod twins;
pub mod world;

pub use check::Violation;
pub use driver::{Simulation, SimulationMove};
pub use profile::WorldProfile;
