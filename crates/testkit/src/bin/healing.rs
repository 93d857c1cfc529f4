//! Runs the healing benchmark: `healing [--all] [--markdown | --json] [--only NAME]`. Exits with 1 if Unstuck
//! deviates from the expectation in a way that is not documented.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use unstuck_testkit::healing::{
    COMPOSITIONS, Comparison, Scenario, ScenarioResult, Supervisor, compare_supervisors,
    compose_scenario, read_scenarios,
};

#[derive(Default)]
struct HealingArgs {
    shape: HealingFormat,
    all: bool,
    only: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum HealingFormat {
    #[default]
    Text,
    Markdown,
    Json,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let comparison = match parse_args(std::env::args().skip(1))
        .and_then(|asked| Ok((play_scenarios(&asked)?, asked)))
    {
        Ok((comparison, asked)) => {
            print!("{}", render_comparison(&comparison, &asked));
            comparison
        }
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    let surprises: Vec<String> =
        comparison.rows.iter().flat_map(ScenarioResult::list_surprises).collect();
    for surprise in &surprises {
        eprintln!("{surprise}");
    }
    if surprises.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse_args(mut arguments: impl Iterator<Item = String>) -> Result<HealingArgs, String> {
    let mut asked = HealingArgs::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--all" => asked.all = true,
            "--json" => asked.shape = HealingFormat::Json,
            "--markdown" => asked.shape = HealingFormat::Markdown,
            "--only" => asked.only = Some(arguments.next().ok_or("--only needs a name")?),
            other => return Err(format!("healing does not know {other}")),
        }
    }
    Ok(asked)
}

fn play_scenarios(asked: &HealingArgs) -> Result<Comparison, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/healing/scenarios");
    let mut scenarios = read_scenarios(&folder).map_err(|error| error.to_string())?;
    let seeds: Vec<Scenario> =
        (0..COMPOSITIONS).map(|seed| compose_scenario(seed, &scenarios)).collect();
    scenarios.extend(seeds);
    let wanted =
        |scenario: &Scenario| asked.only.as_ref().is_none_or(|name| *name == scenario.name);
    let mut rows = Vec::new();
    for scenario in scenarios.into_iter().filter(wanted) {
        let scenario = Arc::new(scenario);
        let row = compare_supervisors(&scenario, Supervisor::ALL);
        rows.push(row.map_err(|stuck| format!("{}: {stuck}", scenario.name))?);
    }
    Ok(Comparison { rows })
}

fn render_comparison(comparison: &Comparison, asked: &HealingArgs) -> String {
    let scenarios = if asked.all { comparison.render_scenarios() + "\n" } else { String::new() };
    let deviations = comparison.render_deviations();
    match asked.shape {
        HealingFormat::Json => format!("{:#}\n", comparison.to_json()),
        HealingFormat::Markdown => format!("{}\n{deviations}", comparison.render_markdown()),
        HealingFormat::Text => format!("{scenarios}{}\n{deviations}", comparison.render_summary()),
    }
}
