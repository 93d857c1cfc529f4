//! Scenarios as data: tasks, failures, and the requirements of an omniscient supervisor; and as plans of the
//! engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::fault::{BudgetSpan, Code};
use unstuck_core::plan::{GateKey, MutationKind, MutationSpec, Plan, PlanError, TaskSpec};
use unstuck_core::time::Span;

use super::trouble::{ScenarioTrouble, TroublePlace};
use crate::chance::Chance;

/// A scenario of the benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name of its file, or of the seed it is composed by.
    #[serde(skip)]
    pub name: String,
    /// A sentence that describes it.
    pub about: String,
    /// The codes that occur in it.
    #[serde(default)]
    pub codes: Vec<Code>,
    /// Number of tasks that may run side by side; all of them if `None`.
    pub slots: Option<u32>,
    /// The tasks to do.
    #[serde(rename = "task")]
    pub tasks: Vec<ScenarioTask>,
    /// The moments at which the supervisor is killed.
    #[serde(rename = "kill", default)]
    pub kills: Vec<SupervisorKill>,
    /// The expected results.
    pub oracle: Oracle,
    /// Known deviations of Unstuck from the oracle, with their reasons.
    #[serde(default)]
    pub deviation: BTreeMap<Measure, String>,
}

/// A task of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioTask {
    /// The name of the task.
    pub name: String,
    /// The tasks that have to be done first.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The account its agent works with.
    #[serde(default)]
    pub account: String,
    /// The approaches that an agent takes in turn when it is told what failed. An agent that is not told
    /// begins with the first and then takes any of them. Without a list every approach is a new one.
    #[serde(default)]
    pub takes: Vec<String>,
    /// The failures, in this order at the same place.
    #[serde(rename = "trouble", default)]
    pub troubles: Vec<ScenarioTrouble>,
    /// The actions on the result, in this order.
    #[serde(rename = "action", default)]
    pub actions: Vec<ScenarioAction>,
}

/// An irreversible action of a task.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioAction {
    /// The key within the task.
    pub key: String,
    /// The kind of action.
    #[serde(default)]
    pub kind: MutationKind,
    /// `true` if the remote side recognizes a repeated call itself.
    #[serde(default)]
    pub idempotent: bool,
    /// `true` if its outcome can be looked up.
    #[serde(default)]
    pub look_up: bool,
    /// Seconds after the call during which an absent effect may still appear.
    #[serde(default)]
    pub settle_seconds: u64,
    /// The key of the action without which this one is skipped.
    pub requires: Option<String>,
}

/// A moment at which the supervisor is killed. It is started again half a minute later.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupervisorKill {
    /// The name of the task.
    pub task: String,
    /// The place that the task has reached.
    pub at: TroublePlace,
    /// The moment at that place.
    pub when: KillMoment,
    /// The number of the visit, counted from 1.
    #[serde(default = "first")]
    pub nth: u32,
}

const fn first() -> u32 {
    1
}

/// A moment of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KillMoment {
    /// The operation has begun: a call is running, an action has not happened.
    Begun,
    /// The operation has ended without being reported: an action has happened.
    Ended,
}

/// The expected results of a scenario. Written by hand from the fault table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oracle {
    /// The completable tasks.
    pub completable: Vec<String>,
    /// Minimum number of model calls to complete them.
    pub least_calls: u32,
    /// Number of questions that only a person can answer.
    pub questions: u32,
    /// Minimum duration in seconds.
    pub least_seconds: u64,
    /// Number of times each action, named `task.key`, happens. Unnamed ones never do.
    #[serde(default)]
    pub effects: BTreeMap<String, u32>,
}

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The completed work.
    Completed,
    /// The number of model calls.
    Calls,
    /// The number of questions.
    Questions,
    /// Actions that happened too often.
    Duplicates,
    /// Actions that did not happen although their task is done.
    Lost,
    /// The duration.
    Seconds,
    /// The codes that occurred.
    Codes,
}

impl Scenario {
    /// Returns the task with this name.
    pub fn find_task(&self, name: &str) -> Option<&ScenarioTask> {
        self.tasks.iter().find(|task| task.name == name)
    }

    /// Returns the number of tasks that may run side by side.
    pub fn slot_count(&self) -> u32 {
        self.slots.unwrap_or_else(|| u32::try_from(self.tasks.len()).unwrap_or(u32::MAX))
    }

    /// Returns whether a failure in it pauses the whole build.
    pub fn holds_the_build(&self) -> bool {
        let troubles = self.tasks.iter().flat_map(|task| &task.troubles);
        troubles.filter_map(|trouble| trouble.budget).any(|span| span != BudgetSpan::Task)
    }
}

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
