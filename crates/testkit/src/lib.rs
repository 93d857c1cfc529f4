//! The engine's adversary: a simulated world that breaks in every way the fault table names, people
//! who answer at the wrong time, a runner that crashes between any two steps, and the invariants
//! of the engine checked all the while.
//!
//! Everything follows from a seed: no clock, no threads, no randomness from outside. It stands for
//! the runner and the world; it is not a test of them.
//!
//! Beside it, [`store`] is what every store has to do, told through the same engine, and `healing` is
//! the benchmark that compares Unstuck with simpler ways to supervise.

pub mod chance;
pub mod check;
pub mod driver;
pub mod elsewhere;
pub mod faults;
#[cfg(feature = "healing")]
pub mod healing;
pub mod moves;
pub mod outside;
pub mod people;
pub mod plans;
pub mod profile;
pub mod run;
pub mod search;
pub mod store;
pub mod twins;
pub mod world;

pub use check::Violation;
pub use driver::{Move, Sim};
pub use profile::Profile;
