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
use unstuck_world::commands::{CommandRules, NetworkIsolation};

use crate::args::DoctorArgs;
use crate::build::WorkerFactory;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::{self, Terminal, style, words};
use crate::settings::{ResolvedSettings, SettingFlags};
use finding::{DoctorFinding, DoctorVerdict};

/// The report in its JSON form.
#[derive(Serialize)]
struct DoctorReport<'a> {
    /// Set if a run could begin.
    ready: bool,
    /// The exit code of a run.
    exit: u8,
    findings: &'a [DoctorFinding],
}

pub(crate) fn run(
    args: &DoctorArgs,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let project = LocalProject::find(dir)?;
    #[cfg(target_os = "linux")]
    if args.wall {
        return wall::run_attacks(&project, args.json, terminal);
    }
    let config = args.config.path.as_deref();
    let resolved = ResolvedSettings::load(project.root(), config, &SettingFlags::new());
    let mut findings = checks::check_settings(project.root(), config, &resolved);
    let looked = run_checks(&project, resolved.as_ref().ok());
    findings.extend(project::create_runtime()?.block_on(looked)?);
    let exit = findings.iter().find_map(|finding| finding.exit).unwrap_or(Exit::Done);
    if args.json {
        let report =
            DoctorReport { ready: exit == Exit::Done, exit: exit.number(), findings: &findings };
        let mut out = terminal.plain();
        render::write_json(&mut out, &report)?;
        out.flush()?;
    } else {
        write_page(&findings, terminal)?;
    }
    Ok(exit)
}

/// Runs all checks beside that of the settings. Without settings, the checks that depend on them are
/// skipped.
async fn run_checks(
    project: &LocalProject,
    resolved: Option<&ResolvedSettings>,
) -> Result<Vec<DoctorFinding>, CliError> {
    let root = project.root();
    let settings = resolved.map(|resolved| &resolved.settings);
    let mut findings =
        git::check_git(root, settings.is_some_and(|settings| settings.run.in_place)).await;
    let rules = CommandRules {
        network: settings.is_some_and(|settings| settings.commands.network.is_open()),
        ..CommandRules::default()
    };
    let network = NetworkIsolation::for_rules(&rules).await;
    match resolved {
        Some(resolved) => {
            let policy = Arc::new(resolved.policy.clone());
            let guard = project::own_guard()?;
            let agents = WorkerFactory {
                settings: &resolved.settings,
                policy: &policy,
                root,
                homes: project.agent_homes_folder(),
                guard: &guard,
                network,
            };
            findings.extend(agent::check_worker(&agents).await);
            findings.extend(checks::inspect_checks(root, &resolved.settings).await);
        }
        None => {
            findings.extend([agent::AGENT, agent::KEYS_ROW, checks::CHECKS].map(|about| {
                DoctorFinding::skipped(about, "not looked at before the settings can be read")
            }));
        }
    }
    let (stored, newest) = store::check_store(project).await;
    findings.extend(stored);
    findings.extend([
        machine::check_sandbox(),
        machine::check_network(network),
        machine::check_disk(root),
        machine::check_clock(project::now(), newest),
    ]);
    Ok(findings)
}

fn write_page(findings: &[DoctorFinding], terminal: &Terminal) -> Result<(), CliError> {
    let width = findings.iter().map(|finding| finding.about.len()).max().unwrap_or_default();
    let mut out = terminal.styled();
    for DoctorFinding { about, verdict, says, todo, .. } in findings {
        let (mark, look) = match verdict {
            DoctorVerdict::Good => ("✔", style::HINT),
            DoctorVerdict::Warning => ("!", style::STRONG),
            DoctorVerdict::Bad => ("✘", style::ERROR),
            DoctorVerdict::Skipped => ("·", style::DIM),
        };
        let text = match todo {
            Some(todo) => format!("{says} → {todo}"),
            None => says.clone(),
        };
        let text = render::wrap_text(&text, width + 4, terminal.line_width());
        writeln!(out, "{look}{mark}{look:#} {about:width$}  {text}")?;
    }
    writeln!(out, "\n{}", render_verdict(findings))?;
    out.flush()?;
    Ok(())
}

fn render_verdict(findings: &[DoctorFinding]) -> String {
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let bad = count(DoctorVerdict::Bad);
    let warnings = count(DoctorVerdict::Warning);
    let look = match warnings {
        0 => String::new(),
        n => format!(" {} worth a look.", words::render_count(n, "thing is", "things are")),
    };
    match bad {
        0 => format!("A run could begin.{look}"),
        n => {
            let things = words::render_count(n, "thing is", "things are");
            format!("A run could not begin: {things} in the way.{look}")
        }
    }
}
