//! `unstuck doctor`: checks whether a run could begin here, and names the remedies.
//!
//! It inspects and experiments, and leaves everything unchanged: no project is held, no agent begins, no
//! call is made. Its findings about a run come from the same code with which a run begins.

mod git;
mod machine;
mod setup;
#[cfg(target_os = "linux")]
mod wall;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use unstuck_core::fault::Code;

use crate::args::ConfigFileArgs;
use crate::build::{CHECKS, ConcernSeverity, PreflightConcern, WorkerFactory, command_network};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::problem::InputProblem;
use crate::project::{self, LocalProject};
use crate::render::{style, words, wrap_text};
use crate::settings::{ResolvedSettings, SettingFlags};

/// Check whether a run can start here, and say what to fix
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Checks everything that a run needs: the settings, git and the repository, the \
        agent and its login, the checks, the store, the sandbox features of this system, disk \
        space, and the clock. Each is one line: ✔ fine, ! worth a look, ✘ blocks a run, with what \
        to do about it.\n\n\
        With --wall it attacks instead: in a temporary folder, behind the wall that a build would \
        use, it tries to write outside, to read hidden files, to reach other processes and the \
        network, and to break out by system calls, and reports what was blocked.\n\n\
        It starts nothing, makes no call that costs anything, and does not delay work on the \
        project.",
    after_long_help = EXAMPLES
)]
pub(crate) struct DoctorArgs {
    /// Write JSON
    #[arg(long)]
    json: bool,

    /// Try to break out of the wall around agents, and report what it blocked
    #[cfg(target_os = "linux")]
    #[arg(long)]
    wall: bool,

    #[command(flatten)]
    config: ConfigFileArgs,
}

const EXAMPLES: &str = "\
Examples:
  unstuck doctor
  unstuck doctor --json
  unstuck doctor --wall
  unstuck doctor && unstuck run tasks/

Exit codes: 0 a run can start, or the wall held against everything; 77 a login, a key or a
permission is missing; 78 something else blocks a run, or an attack got through.";

#[derive(Serialize)]
struct DoctorReport<'a> {
    /// Set if a run could begin.
    ready: bool,
    /// The exit code of a run.
    exit: u8,
    findings: &'a [DoctorFinding],
}

pub(crate) fn run(args: &DoctorArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    #[cfg(target_os = "linux")]
    if args.wall {
        return wall::run_attacks(&project, args.json, context.terminal);
    }
    let config = args.config.path.as_deref();
    let resolved = ResolvedSettings::load(project.root(), config, &SettingFlags::new());
    let mut findings = setup::check_settings(project.root(), config, &resolved);
    let looked = run_checks(&project, resolved.as_ref().ok());
    findings.extend(project::create_runtime()?.block_on(looked)?);
    let exit = findings.iter().find_map(|finding| finding.exit).unwrap_or(Exit::Done);
    let report =
        DoctorReport { ready: exit == Exit::Done, exit: exit.number(), findings: &findings };
    let line_width = context.terminal.line_width();
    context
        .terminal
        .write_result(args.json, &report, |out| write_page(out, &findings, line_width))?;
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
    let reach = settings.map(|settings| settings.commands.network.clone()).unwrap_or_default();
    let network = command_network(&reach).await;
    match resolved {
        Some(resolved) => {
            let policy = Arc::new(resolved.policy.clone());
            let guard = project::own_guard()?;
            let agents = WorkerFactory {
                settings: &resolved.settings,
                policy: &policy,
                root,
                // No task is made of these settings.
                checkout: root,
                folder: Path::new(""),
                homes: project.agent_homes_folder(),
                guard: &guard,
                network,
            };
            findings.extend(setup::check_worker(&agents).await);
            findings.extend(setup::inspect_checks(root, &resolved.settings).await);
        }
        None => {
            findings.extend([setup::AGENT, setup::KEYS_ROW, CHECKS].map(|about| {
                DoctorFinding::skipped(about, "not checked: the settings cannot be read")
            }));
        }
    }
    let (stored, newest) = machine::check_store(project).await;
    findings.extend(stored);
    findings.extend([
        machine::check_sandbox(),
        machine::check_network(network),
        machine::check_disk(root),
        machine::check_clock(project::now(), newest),
    ]);
    Ok(findings)
}

fn write_page(
    out: &mut impl Write,
    findings: &[DoctorFinding],
    line_width: usize,
) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.about.len()).max().unwrap_or_default();
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
        let text = wrap_text(&text, width + 4, line_width);
        writeln!(out, "{look}{mark}{look:#} {about:width$}  {text}")?;
    }
    writeln!(out, "\n{}", render_verdict(findings))
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
        0 => format!("A run can start.{look}"),
        n => {
            let things = words::render_count(n, "thing is", "things are");
            format!("A run cannot start: {things} in the way.{look}")
        }
    }
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct DoctorFinding {
    /// The topic, in one word.
    about: &'static str,
    verdict: DoctorVerdict,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<String>,
    /// The fault code of a run, if it would fail with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    /// The exit code of a run, if it could not begin.
    #[serde(skip)]
    exit: Option<Exit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum DoctorVerdict {
    /// As it should be.
    Good,
    /// A run could begin; the finding is worth a look.
    Warning,
    /// A run could not begin.
    Bad,
    /// The check was not possible because of another finding.
    Skipped,
}

impl DoctorFinding {
    fn good(about: &'static str, says: impl Into<String>) -> Self {
        Self {
            about,
            verdict: DoctorVerdict::Good,
            says: says.into(),
            todo: None,
            code: None,
            exit: None,
        }
    }

    fn skipped(about: &'static str, says: impl Into<String>) -> Self {
        Self { verdict: DoctorVerdict::Skipped, ..Self::good(about, says) }
    }

    fn warning(about: &'static str, says: impl Into<String>, todo: impl Into<String>) -> Self {
        let todo = Some(todo.into());
        Self { verdict: DoctorVerdict::Warning, todo, ..Self::good(about, says) }
    }

    /// Creates a finding that prevents a run; its exit code is that of the environment unless changed.
    fn bad(about: &'static str, says: impl Into<String>, todo: impl Into<String>) -> Self {
        let exit = Some(Exit::Config);
        Self { verdict: DoctorVerdict::Bad, exit, ..Self::warning(about, says, todo) }
    }

    /// Creates a finding from the error that a run would end with. The remedy is its first hint unless a
    /// better one is given.
    fn from_error(about: &'static str, error: &CliError, todo: Option<String>) -> Self {
        let todo = todo.or_else(|| error.hints().into_iter().next()).unwrap_or_default();
        let says = match error {
            CliError::Fault(fault) => fault.message.clone(),
            error => error.to_string(),
        };
        let code = match error {
            CliError::Fault(fault) => Some(fault.code()),
            _ => None,
        };
        let exit = match error.exit() {
            Exit::Denied => Exit::Denied,
            _ => Exit::Config,
        };
        Self { code, exit: Some(exit), ..Self::bad(about, says, todo) }
    }

    fn from_concern(concern: PreflightConcern) -> Self {
        let PreflightConcern { about, weight, code, says, todo } = concern;
        match weight {
            ConcernSeverity::Notes => Self::good(about, says),
            ConcernSeverity::Warns => Self::warning(about, says, todo),
            ConcernSeverity::Stops => Self { code: Some(code), ..Self::bad(about, says, todo) },
        }
    }

    /// Creates the findings of an error, with one for each mistake in files that a person wrote.
    fn list_from_error(about: &'static str, error: &CliError) -> Vec<Self> {
        match error {
            CliError::Problems(problems) => {
                problems.iter().map(|problem| Self::from_problem(about, problem)).collect()
            }
            error => vec![Self::from_error(about, error, None)],
        }
    }

    fn from_problem(about: &'static str, problem: &InputProblem) -> Self {
        let plain = InputProblem { hint: None, ..problem.clone() };
        let todo = problem
            .hint
            .clone()
            .unwrap_or_else(|| format!("`unstuck explain {}` says what helps", problem.code));
        Self { code: Some(problem.code), ..Self::bad(about, plain.to_string(), todo) }
    }
}
