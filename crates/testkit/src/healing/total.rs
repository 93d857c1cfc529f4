//! What all scenarios came to under one supervisor.

use serde::Serialize;

use super::compare::Row;
use super::measure::{Measured, Supervisor};
use super::scenario::Scenario;

/// Sums over all scenarios, and over all draws of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// How often each scenario was played.
    pub draws: u64,
    /// Scenarios.
    pub scenarios: u64,
    /// Of those, the ones in which everything was done that can be.
    pub completed: u64,
    /// Tasks that can be done.
    pub completable: u64,
    /// Of those, the ones that were.
    pub done: u64,
    /// Model calls.
    pub calls: u64,
    /// The fewest that were needed.
    pub least_calls: u64,
    /// Model calls in completed scenarios.
    pub calls_in_completed: u64,
    /// The fewest that were needed there.
    pub least_in_completed: u64,
    /// Questions.
    pub questions: u64,
    /// The necessary ones.
    pub necessary: u64,
    /// Questions beyond the necessary ones, each scenario by itself.
    pub needless: u64,
    /// Actions that happened too often.
    pub duplicates: u64,
    /// Actions that are missing although their task is done.
    pub lost: u64,
    /// Seconds beyond the least in completed scenarios.
    pub seconds_lost: u64,
}

impl Total {
    /// What a supervisor came to in all of them.
    pub fn of(rows: &[Row], supervisor: Supervisor) -> Self {
        let mut total = Self::default();
        for row in rows {
            let played = row.measured.get(&supervisor).map_or(&[][..], Vec::as_slice);
            total.draws = total.draws.max(played.len() as u64);
            for measured in played {
                total.add(&row.scenario, measured);
            }
        }
        total
    }

    fn add(&mut self, scenario: &Scenario, measured: &Measured) {
        let oracle = &scenario.oracle;
        let least = u64::from(oracle.least_calls);
        self.scenarios += 1;
        self.completable += oracle.completable.len() as u64;
        self.done += measured.done_of(scenario) as u64;
        self.calls += u64::from(measured.calls);
        self.least_calls += least;
        self.questions += u64::from(measured.questions);
        self.necessary += u64::from(oracle.questions);
        self.needless += u64::from(measured.questions.saturating_sub(oracle.questions));
        self.duplicates += u64::from(measured.duplicates(scenario));
        self.lost += u64::from(measured.lost(scenario));
        if measured.completed(scenario) {
            self.completed += 1;
            self.calls_in_completed += u64::from(measured.calls);
            self.least_in_completed += least;
            self.seconds_lost += measured.seconds.saturating_sub(oracle.least_seconds);
        }
    }

    /// The cells of a table, per draw.
    pub(super) fn cells(&self) -> [String; 8] {
        let each = |sum: u64| rounded(sum, self.draws);
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
            format!("{} s", rounded(self.seconds_lost, self.completed)),
        ]
    }
}

/// A share, rounded to a whole number.
fn rounded(sum: u64, parts: u64) -> String {
    (sum + parts / 2).checked_div(parts).unwrap_or(0).to_string()
}
