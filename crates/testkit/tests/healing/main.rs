//! The healing benchmark as a test: what is expected of Unstuck holds in every scenario.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a story that cannot go on says so")]

mod expected;
mod files;
mod loops;

use std::path::Path;
use std::sync::Arc;

use unstuck_testkit::healing::{
    COMPOSITIONS, Scenario, ScenarioResult, Supervisor, compare_supervisors, compose_scenario,
    read_scenarios,
};

/// All scenarios that are written down.
fn written() -> Vec<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/healing/scenarios");
    read_scenarios(&folder).unwrap_or_else(|error| panic!("{error}"))
}

/// The compositions of them.
fn compositions() -> Vec<Scenario> {
    let written = written();
    (0..COMPOSITIONS).map(|seed| compose_scenario(seed, &written)).collect()
}

/// One scenario under one supervisor.
fn played(scenario: Scenario, supervisor: Supervisor) -> ScenarioResult {
    let name = scenario.name.clone();
    compare_supervisors(&Arc::new(scenario), &[supervisor])
        .unwrap_or_else(|stuck| panic!("{name}: {stuck}"))
}

/// A scenario that is written down, under one supervisor.
fn played_by_name(name: &str, supervisor: Supervisor) -> ScenarioResult {
    let scenario = written().into_iter().find(|scenario| scenario.name == name).unwrap();
    played(scenario, supervisor)
}
