//! Tests of files as people write them.

mod plans;
mod tasks;
mod wrong;

use super::{PlanFileProblem, PlanSource, parse_tasks};
use crate::plan::TaskSpec;

fn files<'a>(files: &[(&'a str, &'a str)]) -> Result<Vec<TaskSpec>, Vec<PlanFileProblem>> {
    parse_tasks(&files.iter().map(|&(path, text)| PlanSource { path, text }).collect::<Vec<_>>())
}

fn one(path: &str, text: &str) -> TaskSpec {
    let mut tasks = files(&[(path, text)]).unwrap();
    assert_eq!(tasks.len(), 1, "{text}");
    tasks.remove(0)
}

/// Returns the problems as a person would read them.
fn told(given: &[(&str, &str)]) -> String {
    let problems = files(given).unwrap_err();
    let line = |problem: &PlanFileProblem| match problem.hint() {
        Some(hint) => format!("{problem} ({hint})"),
        None => problem.to_string(),
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}
