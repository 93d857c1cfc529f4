//! `unstuck drill`: provokes failures on this machine and checks that the promises hold.

mod checks;
mod place;
mod wall;

use serde::Serialize;
use std::io::Write as _;
use tokio::time::Instant;

use crate::args::Drill;
use crate::error::Error;
use crate::exit::Exit;
use crate::project;
use crate::render::{self, Terminal, style, words};
use checks::{CHECKS, Check};
use place::Place;
use wall::Tried;

/// The outcome of a check.
#[derive(Serialize)]
struct Outcome {
    name: &'static str,
    promise: &'static str,
    held: bool,
    /// The behavior seen instead of the promised one.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
    /// The attacks of a hostile agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tried: Vec<Tried>,
    millis: u64,
}

pub(crate) fn run(args: &Drill, terminal: &Terminal) -> Result<Exit, Error> {
    let wanted = wanted(&args.checks)?;
    if args.list {
        return list(&wanted, terminal);
    }
    project::runtime()?.block_on(drill(args, &wanted, terminal))
}

async fn drill(args: &Drill, wanted: &[&Check], terminal: &Terminal) -> Result<Exit, Error> {
    let folder = place::folder()?;
    if !args.json {
        opening(wanted.len(), terminal)?;
    }
    let mut outcomes = Vec::new();
    for check in wanted {
        let outcome = carry_out(check, &folder).await;
        if !args.json {
            show(&outcome, terminal)?;
        }
        outcomes.push(outcome);
    }
    folder.remove()?;
    let held = outcomes.iter().filter(|outcome| outcome.held).count();
    let mut out = terminal.styled();
    if args.json {
        render::json(&mut out, &outcomes)?;
    } else {
        let checks = words::number(outcomes.len(), "check", "checks");
        writeln!(out, "\n{held} of {checks} held. Nothing was left behind.")?;
    }
    out.flush()?;
    Ok(if held == outcomes.len() { Exit::Done } else { Exit::SomeFailed })
}

async fn carry_out(check: &Check, folder: &place::Folder) -> Outcome {
    let began = Instant::now();
    let (tried, seen) = match Place::make(folder, check.name) {
        Ok(place) => checks::carry_out(check, &place).await,
        Err(error) => (Vec::new(), Some(error)),
    };
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Outcome { name: check.name, promise: check.promise, held: seen.is_none(), seen, tried, millis }
}

fn wanted(names: &[String]) -> Result<Vec<&'static Check>, Error> {
    if names.is_empty() {
        return Ok(CHECKS.iter().collect());
    }
    let find = |name: &String| {
        let found = CHECKS.iter().find(|check| check.name == name);
        found.ok_or_else(|| Error::Unknown {
            what: "check",
            name: name.clone(),
            list: "unstuck drill --list",
        })
    };
    names.iter().map(find).collect()
}

fn list(wanted: &[&Check], terminal: &Terminal) -> Result<Exit, Error> {
    let mut out = terminal.styled();
    for Check { name, promise, .. } in wanted {
        writeln!(out, "{name:18} {promise}")?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn opening(checks: usize, terminal: &Terminal) -> Result<(), Error> {
    let title = style::TITLE;
    let dim = style::DIM;
    let mut out = terminal.styled();
    let checks = words::number(checks, "check", "checks");
    writeln!(out, "{title}Drill{title:#} {dim}· {checks} in a throw-away folder{dim:#}")?;
    out.flush()?;
    Ok(())
}

fn show(outcome: &Outcome, terminal: &Terminal) -> Result<(), Error> {
    let (mark, color) = if outcome.held { ("✔", style::HINT) } else { ("✘", style::ERROR) };
    let dim = style::DIM;
    let took = format!("{}.{} s", outcome.millis / 1_000, outcome.millis % 1_000 / 100);
    let name = outcome.name;
    let promise = outcome.promise;
    let mut out = terminal.styled();
    writeln!(out, "  {color}{mark}{color:#} {name:18} {promise}  {dim}{took}{dim:#}")?;
    for Tried { tries, held, .. } in &outcome.tried {
        let came = if *held { "refused" } else { "got through" };
        writeln!(out, "      {dim}{tries}: {came}{dim:#}")?;
    }
    for line in outcome.seen.iter().flat_map(|seen| seen.lines()) {
        writeln!(out, "      {line}")?;
    }
    out.flush()?;
    Ok(())
}
