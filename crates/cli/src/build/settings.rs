//! Settings that all tasks of a build share.

use std::env;
use std::sync::Arc;

use unstuck_core::plan::TaskSpec;
use unstuck_runner::Results;
use unstuck_runner::build::{BuildSettings, Control};
use unstuck_runner::control::TokenKey;
use unstuck_world::commands::Environment;
use unstuck_world::connector::Credentials;
use unstuck_world::git::{Oid, Person};
use unstuck_world::provider::Credential;
use unstuck_world::redact::Redactor;
use unstuck_world::tool::Declarable;
use unstuck_world::validate::Secrets;
use unstuck_world::workspace;

use super::agents::Agents;
use super::egress::{check_egress, setup_egress};
use super::secrets::secrets;
use super::service::proxies;
use super::task::task_settings;
use super::wall::wall_rules;
use crate::error::Error;
use crate::project::Project;
use crate::settings::{Settings, variable};

/// Returns the control connection of agent programs to the decider.
fn control(project: &Project, declarable: Declarable) -> Result<Control, Error> {
    let path = project.token_key();
    let key = TokenKey::open(&path)
        .map_err(|source| Error::Folder { place: path.display().to_string(), source })?;
    Ok(Control { socket: project.socket(), key, declarable })
}

/// Returns the secrets that actions may use, as far as they are set; a missing one is asked for when an
/// action needs it.
fn credentials(settings: &Settings) -> Credentials {
    let named = settings.actions.allowed.iter().flat_map(|rule| &rule.secrets);
    let set = named.filter_map(|name| Some((name.clone(), Credential::new(&variable(name)?)?)));
    set.collect()
}

/// Returns the settings that perform a build of these tasks.
pub(crate) async fn build_settings(
    project: &Project,
    agents: &Agents<'_>,
    repository: workspace::Project,
    start: Oid,
    tasks: impl Iterator<Item = &TaskSpec>,
) -> Result<BuildSettings, Error> {
    let settings = agents.settings;
    let secrets = secrets(settings);
    let hidden = || secrets.iter().map(String::as_str);
    let person = repository.git().person().await?.unwrap_or_else(|| Person {
        name: "Unstuck".to_owned(),
        email: "unstuck@localhost".to_owned(),
    });
    let tasks = tasks.map(|spec| Ok((spec.name.clone(), task_settings(agents, spec)?)));
    Ok(BuildSettings {
        start,
        guard: agents.guard.clone(),
        wall: wall_rules(&settings.wall, project.root()),
        runs: project.runs(),
        setup: settings.run.setup.clone(),
        setup_egress: setup_egress(settings),
        check_egress: check_egress(settings),
        proxies: proxies(),
        share: settings.run.share.clone(),
        in_place: settings.run.in_place,
        budget: agents.policy.budget,
        disk_free_bytes_min: settings.run.disk_free_mb.saturating_mul(1 << 20),
        says_walls: true,
        allowed: settings.commands.allowed.clone(),
        unlisted: settings.commands.allow_destructive.clone(),
        person,
        command_timeout: settings.run.command.0.into(),
        check_timeout: settings.validate.timeout.0.into(),
        environment: Environment::usual(env::vars_os(), &settings.commands.env),
        withheld: Environment::withheld(env::vars_os(), &settings.commands.env),
        redactor: Arc::new(Redactor::new(hidden())),
        secrets: Arc::new(Secrets::new(hidden())),
        credentials: credentials(settings),
        results: Results::new(project.results()),
        control: Some(control(project, agents.declarable())?),
        remote: settings.run.push.then(|| settings.run.remote.clone()),
        pull_request: settings.run.pull_request,
        tasks: tasks.collect::<Result<_, Error>>()?,
        project: repository,
    })
}
