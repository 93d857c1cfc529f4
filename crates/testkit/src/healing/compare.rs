//! The same scenarios under every supervisor.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::measure::{Measured, Supervisor, Wrong};
use super::scenario::Scenario;
use super::simple::{self, Loop};
use super::unstuck::{self, Stuck};

/// How often a scenario is played where something is left to chance.
pub const DRAWS: u64 = 20;

/// What one scenario came to.
#[derive(Clone, Debug)]
pub struct Row {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// By supervisor, as often as it was played: one draw may be lucky.
    pub measured: BTreeMap<Supervisor, Vec<Measured>>,
}

impl Row {
    /// What of Unstuck's is not as expected and no known deviation, and what is said to deviate and
    /// does not.
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

    /// What of Unstuck's is not as expected.
    pub fn wrong(&self) -> Vec<Wrong> {
        let ours = self.measured.get(&Supervisor::Unstuck).into_iter().flatten();
        ours.flat_map(|measured| measured.wrong(&self.scenario)).collect()
    }
}

/// One scenario under some supervisors.
pub fn compare(scenario: &Arc<Scenario>, supervisors: &[Supervisor]) -> Result<Row, Stuck> {
    let mut measured = BTreeMap::new();
    for &supervisor in supervisors {
        measured.insert(supervisor, played(scenario, supervisor)?);
    }
    Ok(Row { scenario: Arc::clone(scenario), measured })
}

/// Unstuck tells its agents what failed, so nothing is left to chance. Agents of the simpler loops
/// take what comes to their mind: the same scenario is played with several draws.
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

/// A runtime whose time passes when nothing else is left to do.
fn in_virtual_time() -> Result<Runtime, Stuck> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.map_err(|error| Stuck::because(&error))
}
