//! The healing benchmark: the same failures under Unstuck and under simpler supervisors.
//!
//! A scenario is a data file: tasks, their failures and what ends them, and an oracle that was written from
//! the fault table before anything ran. [`Site`] is the world of a scenario; it is independent of the
//! supervisor. [`unstuck`] runs the real loop there, on an in-memory store and in virtual time; [`simple`]
//! runs loops without types, ledger and questions.
//!
//! Results are compared with the oracle, never the other way round.

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
