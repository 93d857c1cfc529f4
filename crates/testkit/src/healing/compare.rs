//! The same scenarios under every supervisor.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::measure::{Measured, Supervisor, Wrong};
use super::scenario::Scenario;
use super::simple::{self, Loop};
use super::unstuck::{self, Stuck};

/// Number of times a scenario is played if it involves chance.
pub const DRAWS: u64 = 20;

/// The results of a scenario.
#[derive(Clone, Debug)]
pub struct Row {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// The results by supervisor, one per draw, because a single draw may be lucky.
    pub measured: BTreeMap<Supervisor, Vec<Measured>>,
}

impl Row {
    /// Returns Unstuck's deviations from the expectation that are not known, and known deviations that no
    /// longer occur.
    pub fn surprises(&self) -> Vec<String> {
        let wrong = self.wrong();
        let known = &self.scenario.deviation;
        let name = &self.scenario.name;
        let new = wrong.iter().filter(|wrong| !known.contains_key(&wrong.measure));
        let mut said: Vec<String> = new.map(|wrong| format!("{name}: {wrong}")).collect();
        for measure in known.keys() {
            if !wrong.iter().any(|wrong| wrong.measure == *measure) {
                said.push(format!("{name}: {measure:?} is as expected and no deviation any more"));
            }
        }
        said
    }

    /// Returns Unstuck's deviations from the expectation.
    pub fn wrong(&self) -> Vec<Wrong> {
        let ours = self.measured.get(&Supervisor::Unstuck).into_iter().flatten();
        ours.flat_map(|measured| measured.wrong(&self.scenario)).collect()
    }
}

/// Plays a scenario under some supervisors.
pub fn compare(scenario: &Arc<Scenario>, supervisors: &[Supervisor]) -> Result<Row, Stuck> {
    let mut measured = BTreeMap::new();
    for &supervisor in supervisors {
        measured.insert(supervisor, played(scenario, supervisor)?);
    }
    Ok(Row { scenario: Arc::clone(scenario), measured })
}

/// Plays a scenario. Unstuck tells its agents what failed, so there is no chance involved. Agents of the
/// simpler loops choose at random: the same scenario is played with several draws.
fn played(scenario: &Arc<Scenario>, supervisor: Supervisor) -> Result<Vec<Measured>, Stuck> {
    let how = match supervisor {
        Supervisor::Unstuck => {
            return Ok(vec![in_virtual_time()?.block_on(unstuck::play(scenario))?]);
        }
        Supervisor::Retry => Loop::RETRY,
        Supervisor::Backoff => Loop::BACKOFF,
        Supervisor::Counting => Loop::COUNTING,
    };
    let draw = |draw| -> Result<Measured, Stuck> {
        Ok(in_virtual_time()?.block_on(simple::play(scenario, how, draw)))
    };
    (0..DRAWS).map(draw).collect()
}

/// Creates a runtime whose time advances when there is nothing else to do.
fn in_virtual_time() -> Result<Runtime, Stuck> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.map_err(|error| Stuck::because(&error))
}
