//! The same scenarios under every supervisor.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::measure::{OracleDeviation, ScenarioMeasurement, Supervisor};
use super::scenario::Scenario;
use super::simple::{self, RetryLoop};
use super::unstuck::{self, ScenarioPlayError};

/// Number of times a scenario is played if it involves chance.
pub const DRAWS: u64 = 20;

/// The results of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// The results by supervisor, one per draw, because a single draw may be lucky.
    pub measured: BTreeMap<Supervisor, Vec<ScenarioMeasurement>>,
}

impl ScenarioResult {
    /// Returns Unstuck's deviations from the expectation that are not known, and known deviations that no
    /// longer occur.
    pub fn list_surprises(&self) -> Vec<String> {
        let wrong = self.list_deviations();
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
    pub fn list_deviations(&self) -> Vec<OracleDeviation> {
        let ours = self.measured.get(&Supervisor::Unstuck).into_iter().flatten();
        ours.flat_map(|measured| measured.find_deviations(&self.scenario)).collect()
    }
}

/// Plays a scenario under some supervisors.
pub fn compare_supervisors(
    scenario: &Arc<Scenario>,
    supervisors: &[Supervisor],
) -> Result<ScenarioResult, ScenarioPlayError> {
    let mut measured = BTreeMap::new();
    for &supervisor in supervisors {
        measured.insert(supervisor, play_draws(scenario, supervisor)?);
    }
    Ok(ScenarioResult { scenario: Arc::clone(scenario), measured })
}

/// Plays a scenario. Unstuck tells its agents what failed, so there is no chance involved. Agents of the
/// simpler loops choose at random: the same scenario is played with several draws.
fn play_draws(
    scenario: &Arc<Scenario>,
    supervisor: Supervisor,
) -> Result<Vec<ScenarioMeasurement>, ScenarioPlayError> {
    let how = match supervisor {
        Supervisor::Unstuck => {
            return Ok(vec![virtual_time_runtime()?.block_on(unstuck::play_scenario(scenario))?]);
        }
        Supervisor::Retry => RetryLoop::RETRY,
        Supervisor::Backoff => RetryLoop::BACKOFF,
        Supervisor::Counting => RetryLoop::COUNTING,
    };
    let draw = |draw| -> Result<ScenarioMeasurement, ScenarioPlayError> {
        Ok(virtual_time_runtime()?.block_on(simple::play_scenario(scenario, how, draw)))
    };
    (0..DRAWS).map(draw).collect()
}

/// Creates a runtime whose time advances when there is nothing else to do.
fn virtual_time_runtime() -> Result<Runtime, ScenarioPlayError> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.map_err(|error| ScenarioPlayError::from_error(&error))
}
