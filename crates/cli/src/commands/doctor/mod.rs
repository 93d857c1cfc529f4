//! `unstuck doctor`: checks whether a run could begin here, and names the remedies.
//!
//! It inspects and experiments, and leaves everything unchanged: no project is held, no agent begins, no
//! call is made. Its findings about a run come from the same code with which a run begins.

mod agent;
mod checks;
mod finding;
mod git;
mod machine;
mod store;
#[cfg(target_os = "linux")]
mod wall;

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use unstuck_world::commands::{Network, Rules};

use crate::args::Doctor;
use crate::build::Agents;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal, style, words};
use crate::settings::{Flags, Resolved};
use finding::{Finding, Verdict};

/// The report in its JSON form.
#[derive(Serialize)]
struct Report<'a> {
    /// Set if a run could begin.
    ready: bool,
    /// The exit code of a run.
    exit: u8,
    findings: &'a [Finding],
}

pub(crate) fn run(args: &Doctor, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    #[cfg(target_os = "linux")]
    if args.wall {
        return wall::run(&project, args.json, terminal);
    }
    let config = args.config.path.as_deref();
    let resolved = Resolved::load(project.root(), config, &Flags::new());
    let mut findings = checks::settings(project.root(), config, &resolved);
    let looked = look(&project, resolved.as_ref().ok());
    findings.extend(project::runtime()?.block_on(looked)?);
    let exit = findings.iter().find_map(|finding| finding.exit).unwrap_or(Exit::Done);
    if args.json {
        let report = Report { ready: exit == Exit::Done, exit: exit.number(), findings: &findings };
        let mut out = terminal.plain();
        render::json(&mut out, &report)?;
        out.flush()?;
    } else {
        page(&findings, terminal)?;
    }
    Ok(exit)
}

/// Runs all checks beside that of the settings. Without settings, the checks that depend on them are
/// skipped.
async fn look(project: &Project, resolved: Option<&Resolved>) -> Result<Vec<Finding>, Error> {
    let root = project.root();
    let settings = resolved.map(|resolved| &resolved.settings);
    let mut findings =
        git::look(root, settings.is_some_and(|settings| settings.run.in_place)).await;
    let rules = Rules {
        network: settings.is_some_and(|settings| settings.commands.network.is_open()),
        ..Rules::default()
    };
    let network = Network::of(&rules).await;
    match resolved {
        Some(resolved) => {
            let policy = Arc::new(resolved.policy.clone());
            let guard = project::own_guard()?;
            let agents = Agents {
                settings: &resolved.settings,
                policy: &policy,
                root,
                homes: project.homes(),
                guard: &guard,
                network,
            };
            findings.extend(agent::look(&agents).await);
            findings.extend(checks::checks(root, &resolved.settings).await);
        }
        None => {
            findings.extend([agent::AGENT, agent::KEYS_ROW, checks::CHECKS].map(|about| {
                Finding::skipped(about, "not looked at before the settings can be read")
            }));
        }
    }
    let (stored, newest) = store::look(project).await;
    findings.extend(stored);
    findings.extend([
        machine::wall(),
        machine::network(network),
        machine::disk(root),
        machine::clock(project::now(), newest),
    ]);
    Ok(findings)
}

fn page(findings: &[Finding], terminal: &Terminal) -> Result<(), Error> {
    let width = findings.iter().map(|finding| finding.about.len()).max().unwrap_or_default();
    let mut out = terminal.styled();
    for Finding { about, verdict, says, todo, .. } in findings {
        let (mark, look) = match verdict {
            Verdict::Good => ("✔", style::HINT),
            Verdict::Warning => ("!", style::STRONG),
            Verdict::Bad => ("✘", style::ERROR),
            Verdict::Skipped => ("·", style::DIM),
        };
        let text = match todo {
            Some(todo) => format!("{says} → {todo}"),
            None => says.clone(),
        };
        let text = render::wrapped(&text, width + 4, terminal.line_width());
        writeln!(out, "{look}{mark}{look:#} {about:width$}  {text}")?;
    }
    writeln!(out, "\n{}", verdict(findings))?;
    out.flush()?;
    Ok(())
}

fn verdict(findings: &[Finding]) -> String {
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let bad = count(Verdict::Bad);
    let warnings = count(Verdict::Warning);
    let look = match warnings {
        0 => String::new(),
        n => format!(" {} worth a look.", words::number(n, "thing is", "things are")),
    };
    match bad {
        0 => format!("A run could begin.{look}"),
        n => {
            let things = words::number(n, "thing is", "things are");
            format!("A run could not begin: {things} in the way.{look}")
        }
    }
}
