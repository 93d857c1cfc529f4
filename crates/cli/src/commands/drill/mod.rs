//! `unstuck drill`: provokes failures on this machine and checks that the promises hold.

mod checks;
mod place;
mod wall;

use std::io::{self, Write};

use serde::Serialize;
use tokio::time::Instant;

use self::checks::{CHECKS, DrillCheck, OLD_SCOPE_NAME, SCOPE_NAME};
use self::place::DrillProject;
use self::wall::DrillAttackResult;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::style::{DIM, ERROR, HINT, TITLE};
use crate::render::{self, Terminal, words};

/// Test Unstuck on this machine with real faults in a temporary folder
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Causes real faults on this machine and checks whether Unstuck reacts as \
        promised: limited and overloaded services, a wrong key, a hung agent, a change outside the \
        scope, a recurring error, kill -9 in the middle of an attempt and of a push, and an agent \
        that tries to break out of its wall. The services are local and the agents follow a \
        script; git, the processes, the store and every decision are real. It takes a minute or \
        two, sends nothing, and leaves nothing behind.",
    after_long_help = DRILL_EXAMPLES
)]
pub(crate) struct DrillArgs {
    /// Run only these checks
    #[arg(value_name = "CHECK")]
    checks: Vec<String>,

    /// List the checks without running them
    #[arg(long)]
    list: bool,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

const DRILL_EXAMPLES: &str = "\
Examples:
  unstuck drill
  unstuck drill killed-push          run one check
  unstuck drill wall                 what an agent cannot do here
  unstuck drill --list

Exit codes: 0 when everything held; 1 when something did not.";

#[derive(Serialize)]
struct DrillOutcome {
    name: &'static str,
    promise: &'static str,
    held: bool,
    /// The behavior seen instead of the promised one.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
    /// The attacks of a hostile agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tried: Vec<DrillAttackResult>,
    millis: u64,
}

pub(crate) fn run(args: &DrillArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let wanted = select_checks(&args.checks)?;
    if args.list {
        terminal.write_page(|out| write_list(out, &wanted))?;
        return Ok(Exit::Done);
    }
    project::create_runtime()?.block_on(run_drill(args, &wanted, terminal))
}

async fn run_drill(
    args: &DrillArgs,
    wanted: &[&DrillCheck],
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let folder = place::create_folder()?;
    if !args.json {
        terminal.write_line(&render_opening(wanted.len()))?;
    }
    let mut outcomes = Vec::new();
    for check in wanted {
        let outcome = run_timed_check(check, &folder).await;
        if !args.json {
            terminal.write_page(|out| write_outcome(out, &outcome))?;
        }
        outcomes.push(outcome);
    }
    folder.remove()?;
    let held = outcomes.iter().filter(|outcome| outcome.held).count();
    let checks = words::render_count(outcomes.len(), "check", "checks");
    terminal.write_result(args.json, &outcomes, |out| {
        writeln!(out, "\n{held} of {checks} held. Nothing was left behind.")
    })?;
    Ok(if held == outcomes.len() { Exit::Done } else { Exit::SomeFailed })
}

async fn run_timed_check(check: &DrillCheck, folder: &place::DrillFolder) -> DrillOutcome {
    let began = Instant::now();
    let (tried, seen) = match DrillProject::create(folder, check.name) {
        Ok(place) => checks::provoke_failure(check, &place).await,
        Err(error) => (Vec::new(), Some(error)),
    };
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    DrillOutcome {
        name: check.name,
        promise: check.promise,
        held: seen.is_none(),
        seen,
        tried,
        millis,
    }
}

fn select_checks(names: &[String]) -> Result<Vec<&'static DrillCheck>, CliError> {
    if names.is_empty() {
        return Ok(CHECKS.iter().collect());
    }
    let find = |name: &String| {
        let current = if name == OLD_SCOPE_NAME {
            render::write_note(&format!("unstuck: {name} is called {SCOPE_NAME} now."));
            SCOPE_NAME
        } else {
            name
        };
        let found = CHECKS.iter().find(|check| check.name == current);
        found.ok_or_else(|| CliError::unknown("check", name, "unstuck drill --list"))
    };
    names.iter().map(find).collect()
}

fn write_list(out: &mut impl Write, wanted: &[&DrillCheck]) -> io::Result<()> {
    for DrillCheck { name, promise, .. } in wanted {
        writeln!(out, "{name:18} {promise}")?;
    }
    Ok(())
}

fn render_opening(checks: usize) -> String {
    let checks = words::render_count(checks, "check", "checks");
    format!("{TITLE}Drill{TITLE:#} {DIM}· {checks} in a throw-away folder{DIM:#}")
}

fn write_outcome(out: &mut impl Write, outcome: &DrillOutcome) -> io::Result<()> {
    let (mark, color) = if outcome.held { ("✔", HINT) } else { ("✘", ERROR) };
    let took = format!("{}.{} s", outcome.millis / 1_000, outcome.millis % 1_000 / 100);
    let name = outcome.name;
    let promise = outcome.promise;
    writeln!(out, "  {color}{mark}{color:#} {name:18} {promise}  {DIM}{took}{DIM:#}")?;
    for DrillAttackResult { tries, held, .. } in &outcome.tried {
        let came = if *held { "refused" } else { "got through" };
        writeln!(out, "      {DIM}{tries}: {came}{DIM:#}")?;
    }
    for line in outcome.seen.iter().flat_map(|seen| seen.lines()) {
        writeln!(out, "      {line}")?;
    }
    Ok(())
}
