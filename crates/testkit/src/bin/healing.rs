//! Runs the healing benchmark: `healing [--all] [--markdown | --json] [--only NAME]`. Exits with 1 if Unstuck
//! deviates from the expectation in a way that is not documented.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use unstuck_testkit::healing::{
    COMPOSITIONS, Comparison, Row, Scenario, Supervisor, compare, composed, read_all,
};

#[derive(Default)]
struct Asked {
    shape: Shape,
    all: bool,
    only: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Shape {
    #[default]
    Text,
    Markdown,
    Json,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let comparison =
        match read(std::env::args().skip(1)).and_then(|asked| Ok((played(&asked)?, asked))) {
            Ok((comparison, asked)) => {
                print!("{}", told(&comparison, &asked));
                comparison
            }
            Err(wrong) => {
                eprintln!("{wrong}");
                return ExitCode::from(2);
            }
        };
    let surprises: Vec<String> = comparison.rows.iter().flat_map(Row::surprises).collect();
    for surprise in &surprises {
        eprintln!("{surprise}");
    }
    if surprises.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read(mut arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--all" => asked.all = true,
            "--json" => asked.shape = Shape::Json,
            "--markdown" => asked.shape = Shape::Markdown,
            "--only" => asked.only = Some(arguments.next().ok_or("--only needs a name")?),
            other => return Err(format!("healing does not know {other}")),
        }
    }
    Ok(asked)
}

fn played(asked: &Asked) -> Result<Comparison, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/healing/scenarios");
    let mut scenarios = read_all(&folder).map_err(|error| error.to_string())?;
    let seeds: Vec<Scenario> = (0..COMPOSITIONS).map(|seed| composed(seed, &scenarios)).collect();
    scenarios.extend(seeds);
    let wanted =
        |scenario: &Scenario| asked.only.as_ref().is_none_or(|name| *name == scenario.name);
    let mut rows = Vec::new();
    for scenario in scenarios.into_iter().filter(wanted) {
        let scenario = Arc::new(scenario);
        let row = compare(&scenario, Supervisor::ALL);
        rows.push(row.map_err(|stuck| format!("{}: {stuck}", scenario.name))?);
    }
    Ok(Comparison { rows })
}

fn told(comparison: &Comparison, asked: &Asked) -> String {
    let scenarios = if asked.all { comparison.scenarios() + "\n" } else { String::new() };
    let deviations = comparison.deviations();
    match asked.shape {
        Shape::Json => format!("{:#}\n", comparison.json()),
        Shape::Markdown => format!("{}\n{deviations}", comparison.markdown()),
        Shape::Text => format!("{scenarios}{}\n{deviations}", comparison.summary()),
    }
}
