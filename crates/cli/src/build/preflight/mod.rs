//! Checks, before money is spent, that the checks can run, that they test the code of their own worktree,
//! and that the start commit is usable.
//!
//! `doctor` shows all concerns; `run` prints them and does not begin if one of them stops it. The preflight
//! changes nothing and runs no check.

mod lines;
mod programs;
mod python;
mod repository;

use std::path::Path;

use toml::Value;
use unstuck_core::fault::Code;
use unstuck_world::process::Wall;
use unstuck_world::workspace::find_own_links;

use crate::error::CliError;
use crate::problem::InputProblem;
use crate::render::words;
use crate::settings::{AgentPermissionsSetting, FILE, Settings};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreflightConcern {
    /// The topic, in one or two words.
    pub(crate) about: &'static str,
    pub(crate) weight: ConcernSeverity,
    pub(crate) code: Code,
    pub(crate) says: String,
    /// The remedy: a command, or the line to write.
    pub(crate) todo: String,
}

/// The checks of all tasks that are to be run.
#[derive(Clone, Debug)]
pub(crate) struct PlannedChecks {
    pub(crate) commands: Vec<String>,
    pub(crate) unchecked: UncheckedTasks,
    /// Commands that look like the tests of the project, for the remedy.
    pub(crate) suggested: Vec<String>,
}

/// Tasks without a check before their commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UncheckedTasks {
    None,
    /// Their names; other tasks have checks.
    Some(Vec<String>),
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConcernSeverity {
    /// A run does not begin.
    Stops,
    /// A run begins, with a warning.
    Warns,
    /// Unstuck takes care of it; only `doctor` shows it.
    Notes,
}

pub(crate) const CHECKS: &str = "checks";
/// The check of the remedy if the project shows no command that tests it.
const EXAMPLE_CHECK: &str = "./test.sh";
const OWN_CODE: &str = "own code";
const WALL: &str = "wall";

impl PreflightConcern {
    fn new_stop(about: &'static str, code: Code, says: String, todo: impl Into<String>) -> Self {
        Self { about, weight: ConcernSeverity::Stops, code, says, todo: todo.into() }
    }

    fn new_warning(about: &'static str, code: Code, says: String, todo: impl Into<String>) -> Self {
        Self { weight: ConcernSeverity::Warns, ..Self::new_stop(about, code, says, todo) }
    }

    fn new_note(about: &'static str, says: String) -> Self {
        let code = Code::PreconditionMissing;
        Self { weight: ConcernSeverity::Notes, ..Self::new_stop(about, code, says, "") }
    }

    /// Formats the concern as one line for a person.
    pub(crate) fn to_line(&self) -> String {
        format!("{} → {}", self.says, self.todo)
    }
}

/// Inspects all that these checks need in the project at `root`.
pub(crate) async fn inspect_project(
    root: &Path,
    settings: &Settings,
    planned: &PlannedChecks,
) -> Vec<PreflightConcern> {
    let checks = &planned.commands;
    let mut concerns = repository::inspect_repository(root).await;
    concerns.extend(find_missing_checks(planned));
    concerns.extend(lines::inspect_lines(settings, checks).await);
    concerns.extend(programs::inspect_programs(root, settings, checks).await);
    concerns.extend(python::inspect_python(root, &settings.run.setup, checks).await);
    concerns.extend(find_shared_links(root, settings));
    concerns.extend(repository::inspect_checkout(root, checks).await);
    concerns.extend(inspect_sandbox(settings));
    concerns
}

/// Returns all concerns that stop a run as an error, or else the warnings.
pub(crate) fn require_no_stops(
    concerns: Vec<PreflightConcern>,
) -> Result<Vec<PreflightConcern>, CliError> {
    let (stops, mut warns): (Vec<PreflightConcern>, Vec<PreflightConcern>) =
        concerns.into_iter().partition(|concern| concern.weight == ConcernSeverity::Stops);
    warns.retain(|concern| concern.weight == ConcernSeverity::Warns);
    if stops.is_empty() {
        return Ok(warns);
    }
    let problem = |concern: PreflightConcern| {
        InputProblem::at_place(concern.code, concern.about, concern.says).with_hint(concern.todo)
    };
    Err(CliError::Problems(stops.into_iter().map(problem).collect()))
}

fn find_missing_checks(planned: &PlannedChecks) -> Option<PreflightConcern> {
    let suggested = match &planned.suggested[..] {
        [] => &[EXAMPLE_CHECK.to_owned()],
        found => found,
    };
    let list = Value::from(suggested.to_vec());
    let (says, todo) = match &planned.unchecked {
        UncheckedTasks::All => (
            "nothing is checked before a commit: an agent's work is taken as it is".to_owned(),
            format!("write `pre_commit = {list}` below [validate] in {FILE}"),
        ),
        UncheckedTasks::Some(tasks) => (
            format!(
                "nothing is checked before a commit of {}: an agent's work is taken as it is",
                words::plain_line(&tasks.join(", "))
            ),
            format!(
                "write `validate: {}` at the top of the task, or `pre_commit = {list}` below \
                 [validate] in {FILE}",
                suggested[0]
            ),
        ),
        UncheckedTasks::None => return None,
    };
    Some(PreflightConcern::new_warning(CHECKS, Code::ConfigMissing, says, todo))
}

/// Returns a concern if a shared `node_modules` leads to the packages of the checkout.
fn find_shared_links(root: &Path, settings: &Settings) -> Option<PreflightConcern> {
    let shared = settings.run.share.iter().any(|path| path.trim_end_matches('/') == "node_modules");
    let links = if shared { find_own_links(root) } else { Vec::new() };
    let first = links.first()?;
    let link = first.strip_prefix(root).unwrap_or(first).display();
    let says = format!("{link} leads to your own checkout, and run.share gives it to worktrees");
    let todo = format!(
        "take node_modules out of run.share, and write `setup = [\"npm ci\"]` below [run] in {FILE}"
    );
    Some(PreflightConcern::new_stop(OWN_CODE, Code::ConfigInvalid, says, todo))
}

/// Returns a concern that stops an agent's work if an agent with all permissions would start on a machine without a
/// complete sandbox, unless the settings allow it.
pub(crate) fn inspect_sandbox(settings: &Settings) -> Option<PreflightConcern> {
    let everything = settings.agent.permissions == AgentPermissionsSetting::Everything;
    if !everything || settings.wall.allow_missing {
        return None;
    }
    let held = Wall::with_usual_paths(std::env::var_os("PATH").as_deref()).try_out();
    (!held.is_whole()).then(|| {
        let says =
            "agent.permissions is \"everything\", and this machine cannot keep agents from your \
                    files and programs"
                .to_owned();
        let todo = format!(
            "install bubblewrap (`unstuck doctor --wall` says what it holds), or write \
             `allow_missing = true` below [wall] in {FILE}"
        );
        PreflightConcern::new_stop(WALL, Code::PreconditionMissing, says, todo)
    })
}
