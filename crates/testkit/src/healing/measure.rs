//! The results of a scenario, compared with its oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use unstuck_core::fault::Code;

use super::scenario::{Measure, Scenario};

/// The supervisor of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Supervisor {
    /// The real engine and loop, with the default limits.
    Unstuck,
    /// Immediate retry of the whole task, ten tries.
    Retry,
    /// Retry of the whole task after half a minute, ten tries.
    Backoff,
    /// Retry of the whole task until three consecutive failures stop the build.
    Counting,
}

impl Supervisor {
    /// All supervisors.
    pub const ALL: &[Self] = &[Self::Unstuck, Self::Retry, Self::Backoff, Self::Counting];

    /// Returns the display name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unstuck => "Unstuck",
            Self::Retry => "retry, 10 tries",
            Self::Backoff => "retry after 30 s, 10 tries",
            Self::Counting => "stop at 3 failures in a row",
        }
    }
}

/// The results of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioMeasurement {
    /// The tasks that were done.
    pub done: BTreeSet<String>,
    /// Number of model calls.
    pub calls: u32,
    /// Number of questions asked.
    pub questions: u32,
    /// Number of times each action took effect, by `task.key`.
    pub effects: BTreeMap<String, u32>,
    /// Seconds until the end.
    pub seconds: u64,
    /// The codes that occurred, as far as the supervisor knows codes.
    pub codes: BTreeSet<Code>,
}

/// A deviation from the expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OracleDeviation {
    /// The measured quantity.
    pub measure: Measure,
    /// The actual and the expected value.
    pub said: String,
}

impl fmt::Display for OracleDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

impl ScenarioMeasurement {
    /// Returns whether everything completable was completed.
    pub fn is_complete(&self, scenario: &Scenario) -> bool {
        scenario.oracle.completable.iter().all(|task| self.done.contains(task))
    }

    /// Returns the number of completable tasks that were completed.
    pub fn count_done(&self, scenario: &Scenario) -> usize {
        scenario.oracle.completable.iter().filter(|task| self.done.contains(*task)).count()
    }

    /// Returns the number of times actions happened beyond what is allowed.
    pub fn count_duplicates(&self, scenario: &Scenario) -> u32 {
        let allowed = |name: &String| scenario.oracle.effects.get(name).copied().unwrap_or(0);
        self.effects.iter().map(|(name, count)| count.saturating_sub(allowed(name))).sum()
    }

    /// Returns the number of missing actions of tasks that count as done.
    pub fn count_lost(&self, scenario: &Scenario) -> u32 {
        let is_done = |name: &str| self.done.contains(name.split('.').next().unwrap_or(name));
        let happened = |name: &String| self.effects.get(name).copied().unwrap_or(0);
        let wanted = scenario.oracle.effects.iter().filter(|(name, _)| is_done(name));
        wanted.map(|(name, count)| count.saturating_sub(happened(name))).sum()
    }

    /// Returns the deviations from what is expected of Unstuck: everything completable is completed, with at
    /// most a tenth more calls than needed, exactly the necessary questions, every action as often as
    /// allowed, and every code of the scenario actually occurred.
    pub fn find_deviations(&self, scenario: &Scenario) -> Vec<OracleDeviation> {
        let oracle = &scenario.oracle;
        let mut wrong = Vec::new();
        let mut expect = |measure, holds: bool, said: String| {
            if !holds {
                wrong.push(OracleDeviation { measure, said });
            }
        };
        let completable: BTreeSet<String> = oracle.completable.iter().cloned().collect();
        let said = format!("done: {:?}, not {completable:?}", self.done);
        expect(Measure::Completed, self.done == completable, said);
        let few = u64::from(self.calls) * 10 <= u64::from(oracle.least_calls) * 11;
        let said = format!("{} calls, at least {}", self.calls, oracle.least_calls);
        expect(Measure::Calls, few && self.calls >= oracle.least_calls, said);
        let said = format!("{} questions, {} necessary", self.questions, oracle.questions);
        expect(Measure::Questions, self.questions == oracle.questions, said);
        let duplicates = self.count_duplicates(scenario);
        expect(Measure::Duplicates, duplicates == 0, format!("{duplicates} duplicated actions"));
        let lost = self.count_lost(scenario);
        expect(Measure::Lost, lost == 0, format!("{lost} lost actions"));
        let said = format!("over after {} s, at least {}", self.seconds, oracle.least_seconds);
        expect(Measure::Seconds, self.seconds >= oracle.least_seconds, said);
        let missed = scenario.codes.iter().filter(|code| !self.codes.contains(code));
        let missed: Vec<&str> = missed.map(|code| code.as_str()).collect();
        expect(Measure::Codes, missed.is_empty(), format!("{} not met", missed.join(", ")));
        wrong
    }
}
