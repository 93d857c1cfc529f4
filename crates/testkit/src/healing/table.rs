//! The totals of all scenarios under each supervisor, and the comparison in formats for people and programs.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::compare::ScenarioResult;
use super::measure::{ScenarioMeasurement, Supervisor};
use super::scenario::Scenario;

const HEAD: [&str; 9] = [
    "",
    "scenarios completed",
    "tasks done",
    "calls (least)",
    "calls ÷ least where completed",
    "questions (necessary)",
    "duplicated actions",
    "lost actions",
    "time lost where completed, each",
];

/// All rows with their totals.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The rows, one per scenario.
    pub rows: Vec<ScenarioResult>,
}

impl Comparison {
    /// Formats the totals as a Markdown table.
    pub fn render_markdown(&self) -> String {
        let mut table = format!("| {} |\n|{}\n", HEAD.join(" | "), " --- |".repeat(HEAD.len()));
        for &supervisor in Supervisor::ALL {
            let cells =
                SupervisorTotal::from_rows(&self.rows, supervisor).table_cells().join(" | ");
            // Writing to a string cannot fail.
            let _ = writeln!(table, "| {} | {cells} |", supervisor.as_str());
        }
        table
    }

    /// Formats the totals for a terminal.
    pub fn render_summary(&self) -> String {
        let totals: Vec<[String; 8]> = Supervisor::ALL
            .iter()
            .map(|one| SupervisorTotal::from_rows(&self.rows, *one).table_cells())
            .collect();
        let mut told = String::new();
        let first = HEAD.iter().map(|head| head.chars().count()).max().unwrap_or(0);
        let _ = write!(told, "{:first$}", "");
        for supervisor in Supervisor::ALL {
            let _ = write!(told, "  {:>27}", supervisor.as_str());
        }
        told.push('\n');
        for (at, head) in HEAD.iter().skip(1).enumerate() {
            let _ = write!(told, "{head:first$}");
            for cells in &totals {
                let _ = write!(told, "  {:>27}", cells[at]);
            }
            told.push('\n');
        }
        told
    }

    /// Formats a line for each scenario: calls of each supervisor, the percentage of draws in which it was
    /// completed if that is not all, and `!` before the number of duplicated actions.
    pub fn render_scenarios(&self) -> String {
        let mut told = String::new();
        for row in &self.rows {
            let oracle = &row.scenario.oracle;
            let _ = write!(told, "{:34} least {:>3}", row.scenario.name, oracle.least_calls);
            for (supervisor, played) in &row.measured {
                let name = supervisor.as_str().split([' ', ',']).next().unwrap_or_default();
                let _ = write!(told, "  {name} {:<10}", render_draws(&row.scenario, played));
            }
            told.push('\n');
        }
        told
    }

    /// Formats the known deviations from the oracle, with their reasons.
    pub fn render_deviations(&self) -> String {
        let mut told = String::new();
        for row in &self.rows {
            let wrong = row.list_deviations();
            for (measure, why) in &row.scenario.deviation {
                let said = wrong.iter().find(|wrong| wrong.measure == *measure);
                let said = said.map_or("as expected", |wrong| &wrong.said);
                let _ = writeln!(told, "- `{}`: {said}. {why}", row.scenario.name);
            }
        }
        told
    }

    /// Returns everything as JSON.
    pub fn to_json(&self) -> Value {
        let totals: serde_json::Map<String, Value> = Supervisor::ALL
            .iter()
            .map(|one| {
                (one.as_str().to_owned(), json!(SupervisorTotal::from_rows(&self.rows, *one)))
            })
            .collect();
        let scenarios: Vec<Value> = self.rows.iter().map(scenario_to_json).collect();
        json!({ "totals": totals, "scenarios": scenarios })
    }
}

fn render_draws(scenario: &Scenario, played: &[ScenarioMeasurement]) -> String {
    let many = u32::try_from(played.len()).unwrap_or(u32::MAX).max(1);
    let calls = played.iter().map(|measured| measured.calls).sum::<u32>() * 10 / many;
    let completed = played.iter().filter(|measured| measured.is_complete(scenario)).count() * 100;
    let twice: u32 = played.iter().map(|measured| measured.count_duplicates(scenario)).sum();
    let mut told = format!("{}.{}", calls / 10, calls % 10);
    if completed < played.len() * 100 {
        let _ = write!(told, " {}%", completed.checked_div(played.len()).unwrap_or(0));
    }
    if twice > 0 {
        let _ = write!(told, " !{}", twice / many);
    }
    told
}

fn scenario_to_json(row: &ScenarioResult) -> Value {
    let oracle = &row.scenario.oracle;
    let measured: serde_json::Map<String, Value> = row
        .measured
        .iter()
        .map(|(supervisor, played)| {
            let each = played.iter().map(|one| measurement_to_json(&row.scenario, one)).collect();
            (supervisor.as_str().to_owned(), Value::Array(each))
        })
        .collect();
    json!({
        "name": row.scenario.name,
        "about": row.scenario.about,
        "completable": oracle.completable.len(),
        "least_calls": oracle.least_calls,
        "questions": oracle.questions,
        "least_seconds": oracle.least_seconds,
        "wrong": row.list_deviations(),
        "deviation": row.scenario.deviation,
        "supervisors": measured,
    })
}

fn measurement_to_json(scenario: &Scenario, measured: &ScenarioMeasurement) -> Value {
    json!({
        "completed": measured.is_complete(scenario),
        "done": measured.count_done(scenario),
        "calls": measured.calls,
        "questions": measured.questions,
        "duplicates": measured.count_duplicates(scenario),
        "lost": measured.count_lost(scenario),
        "seconds": measured.seconds,
    })
}

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
    fn table_cells(&self) -> [String; 8] {
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

fn rounded_quotient(sum: u64, parts: u64) -> String {
    (sum + parts / 2).checked_div(parts).unwrap_or(0).to_string()
}
