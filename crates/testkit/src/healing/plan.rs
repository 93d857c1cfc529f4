//! Conversion of a scenario to a plan of the engine.

use std::sync::Arc;

use unstuck_core::plan::{GateKey, MutationSpec, Plan, PlanError, TaskSpec};
use unstuck_core::time::Span;

use super::scenario::{Scenario, ScenarioAction, ScenarioTask};
use crate::chance::Chance;

/// Converts a scenario to a plan.
pub(super) fn make_plan(scenario: &Scenario) -> Result<Plan, PlanError> {
    Plan::new(scenario.tasks.iter().map(task_spec).collect())
}

fn task_spec(task: &ScenarioTask) -> TaskSpec {
    TaskSpec {
        name: task.name.clone(),
        title: task.name.clone(),
        goal: task.name.clone(),
        depends_on: task.needs.clone(),
        gate: GateKey(Chance::for_place(0, &[&task.account], 0).draw_below(u64::MAX)),
        mutations: task.actions.iter().map(|action| Arc::new(mutation_spec(action))).collect(),
        ..TaskSpec::default()
    }
}

fn mutation_spec(action: &ScenarioAction) -> MutationSpec {
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
