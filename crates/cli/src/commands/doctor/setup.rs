//! Checks the settings, the checks that they name, the agent, and the keys in the environment. No call is made.

use std::env;
use std::path::Path;

use unstuck_core::fault::Code;
use unstuck_core::plan::TaskSpec;
use unstuck_world::provider::{self, AccountAuth, Credential};

use super::DoctorFinding;
use crate::build::{
    CHECKS, KEYS, PlannedChecks, UncheckedTasks, WorkerFactory, inspect_project, task_settings,
};
use crate::commands::init::detect_checks_of;
use crate::error::CliError;
use crate::render::words;
use crate::settings::{FILE, Provider, ResolvedSettings, Settings};

const SETTINGS: &str = "settings";

/// Returns whether the settings can be read, with all problems.
pub(super) fn check_settings(
    root: &Path,
    named: Option<&Path>,
    resolved: &Result<ResolvedSettings, CliError>,
) -> Vec<DoctorFinding> {
    match resolved {
        Err(error) => DoctorFinding::list_from_error(SETTINGS, error),
        Ok(_) => {
            let file = named.map_or_else(|| root.join(FILE), Path::to_owned);
            vec![if file.exists() {
                let name = file.strip_prefix(root).unwrap_or(&file);
                DoctorFinding::good(SETTINGS, format!("{} is valid", name.display()))
            } else {
                let says = format!("there is no {FILE}; all settings have their defaults");
                DoctorFinding::warning(SETTINGS, says, "`unstuck init` writes one")
            }]
        }
    }
}

/// Returns the checks with all concerns that a run reports before it begins. No check is run.
pub(super) async fn inspect_checks(root: &Path, settings: &Settings) -> Vec<DoctorFinding> {
    let validate = &settings.validate;
    let lists = [&validate.pre_commit, &validate.pre_push, &validate.pre_pr];
    let commands: Vec<String> = lists.into_iter().flatten().cloned().collect();
    let unchecked = match validate.pre_commit.as_slice() {
        [] => UncheckedTasks::All,
        _ => UncheckedTasks::None,
    };
    let planned = PlannedChecks { commands, unchecked, suggested: detect_checks_of(root) };
    let concerns = inspect_project(root, settings, &planned).await;
    let mut findings = Vec::new();
    if concerns.iter().all(|concern| concern.about != CHECKS) {
        let commands = words::plain_line(&validate.pre_commit.join(", "));
        findings.push(DoctorFinding::good(CHECKS, commands));
    }
    findings.extend(concerns.into_iter().map(DoctorFinding::from_concern));
    findings
}

pub(super) const AGENT: &str = "agent";
pub(super) const KEYS_ROW: &str = "keys";

/// Maximum length of a version; longer output is not a version.
const VERSION_CHARS_MAX: usize = 60;

/// Checks the worker of a task that names none.
pub(super) async fn check_worker(agents: &WorkerFactory<'_>) -> Vec<DoctorFinding> {
    let task = TaskSpec::default();
    let mut findings = check_agent(agents, &task).await;
    let could_begin = findings.iter().all(|finding| finding.exit.is_none());
    findings.push(check_keys(agents));
    // Globs are parsed when a task is prepared, so that is tried as well.
    if could_begin && let Err(error) = task_settings(agents, &task) {
        findings.extend(DoctorFinding::list_from_error(SETTINGS, &error));
    }
    findings
}

async fn check_agent(agents: &WorkerFactory<'_>, task: &TaskSpec) -> Vec<DoctorFinding> {
    let provider = match agents.default_provider() {
        Ok(provider) => provider,
        Err(error) => return vec![DoctorFinding::from_error(AGENT, &error, None)],
    };
    let worker = match agents.create_worker(task) {
        Ok(worker) => worker,
        Err(CliError::Fault(fault)) => {
            let todo = suggest_remedy(agents, provider, fault.code());
            return vec![DoctorFinding::from_error(AGENT, &CliError::Fault(fault), todo)];
        }
        Err(error) => return DoctorFinding::list_from_error(AGENT, &error),
    };
    if let Err(fault) = worker.check_ready().await {
        let todo = suggest_remedy(agents, provider, fault.code());
        return vec![DoctorFinding::from_error(AGENT, &fault.into(), todo)];
    }
    vec![match agents.installed_program(provider) {
        Some(program) => check_installed(agents, provider, &program).await,
        None => DoctorFinding::good(AGENT, render_without_program(agents, provider, task)),
    }]
}

/// Returns the remedy for an agent that could not begin.
fn suggest_remedy(agents: &WorkerFactory<'_>, provider: Provider, code: Code) -> Option<String> {
    let variable = agents.key_variable(provider);
    match (code, provider) {
        (Code::AuthMissing, Provider::ClaudeCli) => {
            Some(format!("start `claude` once and log in, or set {variable}"))
        }
        (Code::AuthMissing, Provider::CodexCli) => {
            Some(format!("`codex login`, or set {variable}"))
        }
        (Code::AuthMissing, _) => {
            Some(format!("set {variable}, or name another with agent.key_env"))
        }
        _ => None,
    }
}

async fn check_installed(
    agents: &WorkerFactory<'_>,
    provider: Provider,
    program: &Path,
) -> DoctorFinding {
    let name = provider.name();
    let way_in = match agents.account_for(provider) {
        AccountAuth::Key(_) => format!("with the key in {}", agents.key_variable(provider)),
        AccountAuth::Login(_) => "with your login".to_owned(),
    };
    let way_in = format!("{way_in}{}", render_service(agents, provider));
    let at = program.display();
    match provider::query_version(program).await {
        Some(version) => {
            let version = words::plain_line(&version);
            let version: String = version.chars().take(VERSION_CHARS_MAX).collect();
            DoctorFinding::good(AGENT, format!("{name}, {version}, {way_in} ({at})"))
        }
        None => DoctorFinding::warning(
            AGENT,
            format!("{name} is installed ({at}) but does not print its version; it may be broken"),
            format!("`{at} --version` should print it; if it does not, install it again"),
        ),
    }
}

fn render_without_program(
    agents: &WorkerFactory<'_>,
    provider: Provider,
    task: &TaskSpec,
) -> String {
    let name = provider.name();
    let variable = agents.key_variable(provider);
    let service = render_service(agents, provider);
    let key = match agents.credential_for(provider) {
        Some(_) => format!("with the key in {variable}"),
        None => "without a key".to_owned(),
    };
    match (agents.model_for(task), variable.is_empty()) {
        (_, true) => format!("{name}, which plays a file"),
        (Some(model), false) => format!("{name}, {}, {key}{service}", words::plain_line(&model)),
        (None, false) => format!("{name}, {key}{service}"),
    }
}

/// Formats the destination of the calls: the host, and the variable that names it.
fn render_service(agents: &WorkerFactory<'_>, provider: Provider) -> String {
    match agents.service_host(provider) {
        Some((host, Some(variable))) => {
            format!(", at {} as {variable} says", words::plain_line(&host))
        }
        Some((host, None)) => format!(", at {}", words::plain_line(&host)),
        None => String::new(),
    }
}

/// Lists the variables that hold a key: only their names, no part of their values.
fn check_keys(agents: &WorkerFactory<'_>) -> DoctorFinding {
    let own = agents.settings.agent.key_env.iter().map(String::as_str);
    let mut names: Vec<&str> = KEYS.into_iter().chain(own).collect();
    names.dedup();
    let set: Vec<&str> = names.iter().copied().filter(|name| env::var_os(name).is_some()).collect();
    let holds = |name: &str| {
        let key = env::var_os(name).and_then(|key| key.into_string().ok());
        key.is_some_and(|key| Credential::new(&key).is_some())
    };
    let empty: Vec<&str> = set.iter().copied().filter(|name| !holds(name)).collect();
    if !empty.is_empty() {
        let says = format!("{} is set but empty", empty.join(", "));
        return DoctorFinding::warning(KEYS_ROW, says, "set a value, or unset it");
    }
    let says = if set.is_empty() {
        "none in the environment".to_owned()
    } else {
        format!("{} in the environment", set.join(", "))
    };
    DoctorFinding::good(KEYS_ROW, says)
}
