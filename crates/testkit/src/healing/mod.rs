//! The healing benchmark: the same troubles, met by Unstuck and by simpler ways to supervise.
//!
//! A scenario is a data file: tasks, what goes wrong with them and how it ends, and an oracle that was
//! written from the table of faults before anything ran. [`Site`] is the world of a scenario; it knows
//! nothing of who supervises. [`unstuck`] has the real loop work there, on a store in memory and in
//! virtual time; [`simple`] has loops there that know no types, no ledger and no questions.
//!
//! What is measured is held against the oracle, never the other way round.

mod compare;
mod compose;
mod fault;
mod files;
mod measure;
mod plan;
mod scenario;
pub mod simple;
mod site;
mod sound;
mod table;
mod total;
mod trouble;
pub mod unstuck;

pub use compare::{DRAWS, Row, compare};
pub use compose::{COMPOSITIONS, composed};
pub use files::{ScenarioError, parsed, read_all};
pub use measure::{Measure, Measured, Supervisor, Wrong};
pub use scenario::{Action, Kill, Oracle, Scenario, Task, When};
pub use site::{Acted, Failed, How, Site};
pub use table::Comparison;
pub use total::Total;
pub use trouble::{Ends, Place, Trouble};
