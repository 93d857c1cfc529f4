//! Conversion of a scenario to a plan of the engine.

use std::sync::Arc;

use unstuck_core::plan::{GateKey, MutationSpec, Plan, PlanError, TaskSpec};
use unstuck_core::time::Span;

use super::scenario::{Action, Scenario, Task};
use crate::chance::Chance;

/// Converts a scenario to a plan.
pub(super) fn plan(scenario: &Scenario) -> Result<Plan, PlanError> {
    Plan::new(scenario.tasks.iter().map(spec).collect())
}

fn spec(task: &Task) -> TaskSpec {
    TaskSpec {
        name: task.name.clone(),
        title: task.name.clone(),
        goal: task.name.clone(),
        depends_on: task.needs.clone(),
        gate: GateKey(Chance::at(0, &[&task.account], 0).below(u64::MAX)),
        mutations: task.actions.iter().map(|action| Arc::new(mutation(action))).collect(),
        ..TaskSpec::default()
    }
}

fn mutation(action: &Action) -> MutationSpec {
    MutationSpec {
        key: action.key.clone(),
        kind: action.kind,
        idempotent: action.idempotent,
        probe: action.look_up,
        settle_ms: Span::from_secs(action.settle_seconds),
        requires: action.requires.clone(),
        ..MutationSpec::default()
    }
}
