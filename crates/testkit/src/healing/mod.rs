//! The healing benchmark: the same failures under Unstuck and under simpler supervisors.
//!
//! A scenario is a data file: tasks, their failures and what ends them, and an oracle that was written from
//! the fault table before anything ran. [`ScenarioSite`] is the world of a scenario; it is independent of the
//! supervisor. [`unstuck`] runs the real loop there, on an in-memory store and in virtual time; [`simple`]
//! runs loops without types, ledger and questions.
//!
//! Results are compared with the oracle, never the other way round.

mod compare;
mod compose;
mod files;
mod measure;
mod scenario;
pub mod simple;
mod site;
mod table;
mod trouble;
pub mod unstuck;

pub use compare::{DRAWS, ScenarioResult, compare_supervisors};
pub use compose::{COMPOSITIONS, compose_scenario};
pub use files::{ScenarioError, parse_scenario, read_scenarios};
pub use measure::{OracleDeviation, ScenarioMeasurement, Supervisor};
pub use scenario::{
    KillMoment, Measure, Oracle, Scenario, ScenarioAction, ScenarioTask, SupervisorKill,
};
pub use site::{ScenarioSite, SiteActionReply, SiteAgentCall, SiteAgentFailure};
pub use table::{Comparison, SupervisorTotal};
pub use trouble::{ScenarioTrouble, TroubleEnd, TroublePlace};
