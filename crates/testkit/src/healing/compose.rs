//! Scenarios composed by a seed: several faults at a time, in independent tasks, so that the oracle is the
//! sum of the parts' oracles.
//!
//! The sum is right because no two parts share a task, an account or an error; all tasks may run side by
//! side; the supervisor is not killed, since a kill would cost every part a call; and there are fewer
//! questions than those at which a build pauses.

use std::collections::BTreeMap;

use super::scenario::{Oracle, Scenario, ScenarioTask};
use super::trouble::ScenarioTrouble;
use crate::chance::Chance;

/// Number of compositions: one for each seed below it.
pub const COMPOSITIONS: u64 = 30;
/// Minimum and maximum number of parts.
const PARTS: (u64, u64) = (3, 8);
/// Maximum number of questions: five open ones pause a build, which is a question of its own.
const QUESTIONS_MAX: u32 = 4;

/// Returns the composition of a seed.
pub fn compose_scenario(seed: u64, all: &[Scenario]) -> Scenario {
    let mut chance = Chance::for_place(seed, &["healing"], 0);
    let wanted = PARTS.0 + chance.draw_below(PARTS.1 - PARTS.0 + 1);
    let mut left: Vec<&Scenario> = all.iter().filter(|part| is_part(part)).collect();
    let mut parts: Vec<&Scenario> = Vec::new();
    while !left.is_empty() && (parts.len() as u64) < wanted {
        let part = left.swap_remove(chance.draw_index(left.len()));
        let asked: u32 = parts.iter().map(|part| part.oracle.questions).sum();
        if asked + part.oracle.questions <= QUESTIONS_MAX {
            parts.push(part);
        }
    }
    sum_parts(seed, &parts)
}

/// Returns whether a scenario can be combined with others.
fn is_part(scenario: &Scenario) -> bool {
    scenario.kills.is_empty()
        && scenario.slots.is_none()
        && scenario.deviation.is_empty()
        && !scenario.holds_the_build()
}

fn sum_parts(seed: u64, parts: &[&Scenario]) -> Scenario {
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let mut oracle = Oracle {
        completable: Vec::new(),
        least_calls: 0,
        questions: 0,
        least_seconds: 0,
        effects: BTreeMap::new(),
    };
    for part in parts {
        let of_part = |name: &String| format!("{}-{name}", part.name);
        oracle.completable.extend(part.oracle.completable.iter().map(of_part));
        oracle.least_calls += part.oracle.least_calls;
        oracle.questions += part.oracle.questions;
        oracle.least_seconds = oracle.least_seconds.max(part.oracle.least_seconds);
        oracle.effects.extend(part.oracle.effects.iter().map(|(name, n)| (of_part(name), *n)));
    }
    Scenario {
        name: format!("seed-{seed:02}"),
        about: format!("At the same time: {}.", names.join(", ")),
        codes: parts.iter().flat_map(|part| part.codes.clone()).collect(),
        slots: None,
        tasks: parts
            .iter()
            .flat_map(|part| part.tasks.iter().map(|task| isolate_task(part, task)))
            .collect(),
        kills: Vec::new(),
        oracle,
        deviation: BTreeMap::new(),
    }
}

/// Returns a task of a part under a name, an account and errors that no other part has.
fn isolate_task(part: &Scenario, task: &ScenarioTask) -> ScenarioTask {
    let of_part = |name: &String| format!("{}-{name}", part.name);
    let said = |trouble: &ScenarioTrouble| {
        let message = Some(format!("{}: {}", part.name, trouble.message_text()));
        ScenarioTrouble { message, ..trouble.clone() }
    };
    ScenarioTask {
        name: of_part(&task.name),
        needs: task.needs.iter().map(of_part).collect(),
        account: of_part(&task.account),
        troubles: task.troubles.iter().map(said).collect(),
        ..task.clone()
    }
}
