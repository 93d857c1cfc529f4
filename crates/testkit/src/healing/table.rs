//! The comparison in formats for people and programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::compare::Row;
use super::measure::{Measured, Supervisor};
use super::scenario::Scenario;
use super::total::Total;

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
    pub rows: Vec<Row>,
}

impl Comparison {
    /// Formats the totals as a Markdown table.
    pub fn markdown(&self) -> String {
        let mut table = format!("| {} |\n|{}\n", HEAD.join(" | "), " --- |".repeat(HEAD.len()));
        for &supervisor in Supervisor::ALL {
            let cells = Total::of(&self.rows, supervisor).cells().join(" | ");
            // Writing to a string cannot fail.
            let _ = writeln!(table, "| {} | {cells} |", supervisor.as_str());
        }
        table
    }

    /// Formats the totals for a terminal.
    pub fn summary(&self) -> String {
        let totals: Vec<[String; 8]> =
            Supervisor::ALL.iter().map(|one| Total::of(&self.rows, *one).cells()).collect();
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
    pub fn scenarios(&self) -> String {
        let mut told = String::new();
        for row in &self.rows {
            let oracle = &row.scenario.oracle;
            let _ = write!(told, "{:34} least {:>3}", row.scenario.name, oracle.least_calls);
            for (supervisor, played) in &row.measured {
                let name = supervisor.as_str().split([' ', ',']).next().unwrap_or_default();
                let _ = write!(told, "  {name} {:<10}", in_short(&row.scenario, played));
            }
            told.push('\n');
        }
        told
    }

    /// Formats the known deviations from the oracle, with their reasons.
    pub fn deviations(&self) -> String {
        let mut told = String::new();
        for row in &self.rows {
            let wrong = row.wrong();
            for (measure, why) in &row.scenario.deviation {
                let said = wrong.iter().find(|wrong| wrong.measure == *measure);
                let said = said.map_or("as expected", |wrong| &wrong.said);
                let _ = writeln!(told, "- `{}`: {said}. {why}", row.scenario.name);
            }
        }
        told
    }

    /// Returns everything as JSON.
    pub fn json(&self) -> Value {
        let totals: serde_json::Map<String, Value> = Supervisor::ALL
            .iter()
            .map(|one| (one.as_str().to_owned(), json!(Total::of(&self.rows, *one))))
            .collect();
        let scenarios: Vec<Value> = self.rows.iter().map(scenario).collect();
        json!({ "totals": totals, "scenarios": scenarios })
    }
}

fn in_short(scenario: &Scenario, played: &[Measured]) -> String {
    let many = u32::try_from(played.len()).unwrap_or(u32::MAX).max(1);
    let calls = played.iter().map(|measured| measured.calls).sum::<u32>() * 10 / many;
    let completed = played.iter().filter(|measured| measured.completed(scenario)).count() * 100;
    let twice: u32 = played.iter().map(|measured| measured.duplicates(scenario)).sum();
    let mut told = format!("{}.{}", calls / 10, calls % 10);
    if completed < played.len() * 100 {
        let _ = write!(told, " {}%", completed.checked_div(played.len()).unwrap_or(0));
    }
    if twice > 0 {
        let _ = write!(told, " !{}", twice / many);
    }
    told
}

fn scenario(row: &Row) -> Value {
    let oracle = &row.scenario.oracle;
    let measured: serde_json::Map<String, Value> = row
        .measured
        .iter()
        .map(|(supervisor, played)| {
            let each = played.iter().map(|one| measured(&row.scenario, one)).collect();
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
        "wrong": row.wrong(),
        "deviation": row.scenario.deviation,
        "supervisors": measured,
    })
}

fn measured(scenario: &Scenario, measured: &Measured) -> Value {
    json!({
        "completed": measured.completed(scenario),
        "done": measured.done_of(scenario),
        "calls": measured.calls,
        "questions": measured.questions,
        "duplicates": measured.duplicates(scenario),
        "lost": measured.lost(scenario),
        "seconds": measured.seconds,
    })
}
