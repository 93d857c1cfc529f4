//! The totals of all scenarios under one supervisor.

use serde::Serialize;

use super::compare::ScenarioResult;
use super::measure::{ScenarioMeasurement, Supervisor};
use super::scenario::Scenario;

/// Sums over all scenarios, and over all draws of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SupervisorTotal {
    /// Number of times each scenario was played.
    pub draws: u64,
    /// Number of scenarios.
    pub scenarios: u64,
    /// Number of scenarios in which everything completable was done.
    pub completed: u64,
    /// Number of completable tasks.
    pub completable: u64,
    /// Number of completable tasks that were done.
    pub done: u64,
    /// Number of model calls.
    pub calls: u64,
    /// Minimum number of calls needed.
    pub least_calls: u64,
    /// Number of model calls in completed scenarios.
    pub calls_in_completed: u64,
    /// Minimum number of calls needed in completed scenarios.
    pub least_in_completed: u64,
    /// Number of questions.
    pub questions: u64,
    /// Number of necessary questions.
    pub necessary: u64,
    /// Number of questions beyond the necessary ones, summed per scenario.
    pub needless: u64,
    /// Number of actions that happened too often.
    pub duplicates: u64,
    /// Number of actions that are missing although their task is done.
    pub lost: u64,
    /// Seconds beyond the minimum in completed scenarios.
    pub seconds_lost: u64,
}

impl SupervisorTotal {
    /// Computes the totals of a supervisor.
    pub fn from_rows(rows: &[ScenarioResult], supervisor: Supervisor) -> Self {
        let mut total = Self::default();
        for row in rows {
            let played = row.measured.get(&supervisor).map_or(&[][..], Vec::as_slice);
            total.draws = total.draws.max(played.len() as u64);
            for measured in played {
                total.add_result(&row.scenario, measured);
            }
        }
        total
    }

    fn add_result(&mut self, scenario: &Scenario, measured: &ScenarioMeasurement) {
        let oracle = &scenario.oracle;
        let least = u64::from(oracle.least_calls);
        self.scenarios += 1;
        self.completable += oracle.completable.len() as u64;
        self.done += measured.count_done(scenario) as u64;
        self.calls += u64::from(measured.calls);
        self.least_calls += least;
        self.questions += u64::from(measured.questions);
        self.necessary += u64::from(oracle.questions);
        self.needless += u64::from(measured.questions.saturating_sub(oracle.questions));
        self.duplicates += u64::from(measured.count_duplicates(scenario));
        self.lost += u64::from(measured.count_lost(scenario));
        if measured.is_complete(scenario) {
            self.completed += 1;
            self.calls_in_completed += u64::from(measured.calls);
            self.least_in_completed += least;
            self.seconds_lost += measured.seconds.saturating_sub(oracle.least_seconds);
        }
    }

    /// Returns the cells of a table, per draw.
    pub(super) fn table_cells(&self) -> [String; 8] {
        let each = |sum: u64| rounded_quotient(sum, self.draws);
        let hundredths = (self.calls_in_completed * 100).checked_div(self.least_in_completed);
        let hundredths = hundredths.unwrap_or(100);
        [
            format!("{} of {}", each(self.completed), each(self.scenarios)),
            format!("{} of {}", each(self.done), each(self.completable)),
            format!("{} ({})", each(self.calls), each(self.least_calls)),
            format!("{}.{:02}", hundredths / 100, hundredths % 100),
            format!("{} ({})", each(self.questions), each(self.necessary)),
            each(self.duplicates),
            each(self.lost),
            format!("{} s", rounded_quotient(self.seconds_lost, self.completed)),
        ]
    }
}

/// Returns a quotient rounded to a whole number.
fn rounded_quotient(sum: u64, parts: u64) -> String {
    (sum + parts / 2).checked_div(parts).unwrap_or(0).to_string()
}
