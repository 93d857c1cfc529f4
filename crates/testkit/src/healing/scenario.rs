//! Scenarios as data: tasks, what goes wrong, and what an all-knowing supervisor would need.

use std::collections::BTreeMap;

use serde::Deserialize;
use unstuck_core::fault::{BudgetSpan, Code};
use unstuck_core::plan::MutationKind;

use super::measure::Measure;
use super::trouble::{Place, Trouble};

/// One scenario.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name of its file, or of the seed it is composed by.
    #[serde(skip)]
    pub name: String,
    /// What it is about, in a sentence.
    pub about: String,
    /// The codes that are met in it.
    #[serde(default)]
    pub codes: Vec<Code>,
    /// How many tasks may run side by side; all of them without a number.
    pub slots: Option<u32>,
    /// What there is to do.
    #[serde(rename = "task")]
    pub tasks: Vec<Task>,
    /// When the supervisor is killed.
    #[serde(rename = "kill", default)]
    pub kills: Vec<Kill>,
    /// What it should come to.
    pub oracle: Oracle,
    /// Where Unstuck is known to fall short of the oracle, and why.
    #[serde(default)]
    pub deviation: BTreeMap<Measure, String>,
}

/// One task of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// The tasks that have to be done first.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The account its agent works with.
    #[serde(default)]
    pub account: String,
    /// The approaches an agent takes one after the other when it is told what failed. One that is
    /// not told begins with the first and then takes any of them. Without a list every approach is
    /// another one.
    #[serde(default)]
    pub takes: Vec<String>,
    /// What goes wrong, in this order where it is at the same place.
    #[serde(rename = "trouble", default)]
    pub troubles: Vec<Trouble>,
    /// What is done with the result, in this order.
    #[serde(rename = "action", default)]
    pub actions: Vec<Action>,
}

/// One irreversible action of a task.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Its name within the task.
    pub key: String,
    /// What kind of action it is.
    #[serde(default)]
    pub kind: MutationKind,
    /// Whether the other side recognises a repeated call by itself.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether it can be looked up if it happened.
    #[serde(default)]
    pub look_up: bool,
    /// How long after the call an absent effect may still appear.
    #[serde(default)]
    pub settle_seconds: u64,
    /// Left out unless the action with this key happened.
    pub requires: Option<String>,
}

/// A moment at which the supervisor is killed. It is started again half a minute later.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kill {
    /// The task.
    pub task: String,
    /// What it is at.
    pub at: Place,
    /// The moment.
    pub when: When,
    /// Which time it comes there, counted from 1.
    #[serde(default = "first")]
    pub nth: u32,
}

const fn first() -> u32 {
    1
}

/// A moment of something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// It has begun: a call is under way, an action has not happened.
    Begun,
    /// It has ended, and nobody has heard of it: an action has happened.
    Ended,
}

/// What a scenario should come to. Written by hand from the table of faults.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oracle {
    /// The tasks that can be completed.
    pub completable: Vec<String>,
    /// The fewest model calls with which they can be.
    pub least_calls: u32,
    /// The questions that only a person can answer.
    pub questions: u32,
    /// The earliest end, in seconds.
    pub least_seconds: u64,
    /// How often each action, named `task.key`, happens. Those that are not named never do.
    #[serde(default)]
    pub effects: BTreeMap<String, u32>,
}

impl Scenario {
    /// The task with this name.
    pub fn task(&self, name: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.name == name)
    }

    /// How many tasks may run side by side.
    pub fn slots(&self) -> u32 {
        self.slots.unwrap_or_else(|| u32::try_from(self.tasks.len()).unwrap_or(u32::MAX))
    }

    /// Whether a trouble of it has the whole build stand still.
    pub fn holds_the_build(&self) -> bool {
        let troubles = self.tasks.iter().flat_map(|task| &task.troubles);
        troubles.filter_map(|trouble| trouble.budget).any(|span| span != BudgetSpan::Task)
    }
}
