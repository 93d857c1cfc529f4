//! Settings that all tasks of a build share.

use std::env;
use std::sync::Arc;

use unstuck_core::plan::TaskSpec;
use unstuck_runner::ResultFiles;
use unstuck_runner::build::{AgentControl, BuildSettings};
use unstuck_world::commands::CommandEnvironment;
use unstuck_world::connector::Credentials;
use unstuck_world::egress::look_for_servers;
use unstuck_world::git::{CommitAuthor, Oid};
use unstuck_world::provider::Credential;
use unstuck_world::redact::Redactor;
use unstuck_world::tool::DeclarationPolicy;
use unstuck_world::validate::SecretScanner;
use unstuck_world::workspace;

use super::preflight::{inspect_sandbox, require_no_stops};
use super::provider::{WorkerFactory, environment_proxies};
use super::sandbox::{check_egress, setup_egress, wall_rules};
use super::task::task_settings;
use crate::error::CliError;
use crate::project::{self, LocalProject};
use crate::settings::{Settings, collect_secrets, environment_variable};

/// Returns the control connection of agent programs to the decider.
fn control_settings(
    project: &LocalProject,
    declarable: DeclarationPolicy,
) -> Result<AgentControl, CliError> {
    let key = project.open_token_key()?;
    Ok(AgentControl { socket: project.socket_path(), key, declarable })
}

/// Returns the secrets that actions may use, as far as they are set; a missing one is asked for when an
/// action needs it.
fn action_credentials(settings: &Settings) -> Credentials {
    let named = settings.actions.allowed.iter().flat_map(|rule| &rule.secrets);
    let set = named
        .filter_map(|name| Some((name.clone(), Credential::new(&environment_variable(name)?)?)));
    set.collect()
}

pub(crate) async fn build_settings(
    project: &LocalProject,
    agents: &WorkerFactory<'_>,
    repository: workspace::ProjectRepository,
    start: Oid,
    tasks: impl Iterator<Item = &TaskSpec>,
) -> Result<BuildSettings, CliError> {
    let settings = agents.settings;
    // Every start of an agent goes through here: of a new build, of a resumed one, and of a repair.
    require_no_stops(inspect_sandbox(settings).into_iter().collect())?;
    look_for_servers(&project::own_servers_folder());
    let secrets = collect_secrets(settings);
    let hidden = || secrets.iter().map(String::as_str);
    let person = repository.git().read_author().await?.unwrap_or_else(|| CommitAuthor {
        name: "Unstuck".to_owned(),
        email: "unstuck@localhost".to_owned(),
    });
    let tasks = tasks.map(|spec| Ok((spec.name.clone(), task_settings(agents, spec)?)));
    Ok(BuildSettings {
        start,
        guard: agents.guard.clone(),
        wall: wall_rules(settings, project.root()),
        runs: project.runs_folder(),
        setup: settings.run.setup.clone(),
        setup_egress: setup_egress(settings),
        check_egress: check_egress(settings),
        proxies: environment_proxies(),
        share: settings.run.share.clone(),
        in_place: settings.run.in_place,
        budget: agents.policy.budget,
        disk_free_bytes_min: settings.run.disk_free_mb.saturating_mul(1 << 20),
        says_walls: true,
        allowed: settings.commands.allowed.clone(),
        blocked: settings.commands.blocked.clone(),
        unlisted: settings.commands.allow_destructive.clone(),
        person,
        command_timeout: settings.run.command.0.into(),
        check_timeout: settings.validate.timeout.0.into(),
        environment: CommandEnvironment::filter_passed(env::vars_os(), &settings.commands.env),
        withheld: CommandEnvironment::list_withheld(env::vars_os(), &settings.commands.env),
        redactor: Arc::new(Redactor::new(hidden())),
        secrets: Arc::new(SecretScanner::new(hidden())),
        credentials: action_credentials(settings),
        results: ResultFiles::new(project.results_folder()),
        control: Some(control_settings(project, agents.declarable_resources())?),
        remote: settings.run.push.then(|| settings.run.remote.clone()),
        pull_request: settings.run.pull_request,
        tasks: tasks.collect::<Result<_, CliError>>()?,
        project: repository,
    })
}
