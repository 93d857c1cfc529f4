//! Builds of a project: their workers, their plan and their performer, for `unstuck run` and `unstuck serve`.

mod elsewhere;
mod performing;
mod tasks;

use std::sync::Arc;

use unstuck_core::engine::{BuildId, BuildState, Command};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_runner::build::BuildPerformer;
use unstuck_runner::{Decider, SystemClock};
use unstuck_store::Store;
use unstuck_world::commands::NetworkIsolation;
use unstuck_world::git::status::StatusEntry;
use unstuck_world::process::GuardCommand;
use unstuck_world::provider::take_logins_back;
use unstuck_world::workspace;

pub(super) use self::elsewhere::leave_out_begun;
pub(super) use self::performing::{OtherPerformers, PerformedBuilds};
pub(super) use self::tasks::{find_tasks, goal_task, project_tasks};
use super::mcp;
use crate::build::{
    PlannedChecks, PreflightConcern, UncheckedTasks, WorkerFactory, build_settings,
    command_network, complete_task, inspect_project, require_no_stops,
};
use crate::commands::init::detect_checks_of;
use crate::error::CliError;
use crate::project::{self, LocalProject, ProjectConnection, ProjectSession};
use crate::render::{self, words};
use crate::settings::{
    self, ResolvedSettings, RunOptions, Settings, load_with_options, merge_options,
};

pub(in crate::commands) struct BuildWorkers {
    project: LocalProject,
    settings: Settings,
    policy: Arc<Policy>,
    repository: workspace::ProjectRepository,
    guard: GuardCommand,
    network: NetworkIsolation,
    /// The options from which its settings come.
    options: RunOptions,
}

impl BuildWorkers {
    pub(in crate::commands) async fn create(
        project: &LocalProject,
        resolved: ResolvedSettings,
    ) -> Result<Self, CliError> {
        let ResolvedSettings { settings, policy, .. } = resolved;
        let repository = workspace::ProjectRepository::open("git", project.root()).await?;
        let network = command_network(&settings.commands.network).await;
        // A login that an agent renewed before a crash is the operator's again, whatever comes next.
        let homes = project.agent_homes_folder();
        if let Err(error) = take_logins_back(&homes).await {
            let place = homes.display();
            render::write_note(&format!(
                "unstuck: a login that was renewed by an agent is still in {place}: {error}"
            ));
        }
        Ok(Self {
            project: project.clone(),
            settings,
            policy: Arc::new(policy),
            repository,
            guard: project::own_guard()?,
            network,
            options: RunOptions::new(),
        })
    }

    pub(super) fn with_options(self, options: RunOptions) -> Self {
        Self { options, ..self }
    }

    /// Returns the settings and the policy of a build that was started with other options.
    fn load_other_settings(
        &self,
        options: Option<&RunOptions>,
    ) -> Result<Option<(Settings, Arc<Policy>)>, CliError> {
        let Some(options) = options.filter(|options| **options != self.options) else {
            return Ok(None);
        };
        let ResolvedSettings { settings, policy, .. } =
            load_with_options(self.project.root(), options, None)?;
        Ok(Some((settings, Arc::new(policy))))
    }

    pub(super) fn worker_factory(&self) -> WorkerFactory<'_> {
        self.worker_factory_with(&self.settings, &self.policy)
    }

    fn worker_factory_with<'a>(
        &'a self,
        settings: &'a Settings,
        policy: &'a Arc<Policy>,
    ) -> WorkerFactory<'a> {
        WorkerFactory {
            settings,
            policy,
            root: self.project.root(),
            checkout: self.repository.checkout(),
            folder: self.repository.folder(),
            homes: self.project.agent_homes_folder(),
            guard: &self.guard,
            network: self.network,
        }
    }

    pub(super) const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the plan, with all that the engine needs about each task.
    pub(in crate::commands) fn complete_plan(
        &self,
        tasks: Vec<TaskSpec>,
    ) -> Result<Plan, CliError> {
        let agents = self.worker_factory();
        let tasks = tasks.into_iter().map(|task| complete_task(&agents, task));
        Ok(Plan::new(tasks.collect::<Result<_, _>>()?)?)
    }

    /// Checks that all workers of the plan could begin, and returns the warnings. Makes no call to a model.
    pub(in crate::commands) async fn check_plan(
        &self,
        plan: &Plan,
    ) -> Result<Vec<PreflightConcern>, CliError> {
        if self.settings.run.in_place {
            self.repository.require_clean().await?;
        }
        let agents = self.worker_factory();
        let mut checked = Vec::new();
        for (spec, _) in plan.iter() {
            let key = (spec.provider.clone(), spec.model.clone());
            let worker = agents.create_worker(spec)?;
            if !checked.contains(&key) {
                worker.check_ready().await?;
                checked.push(key);
            }
        }
        require_no_stops(
            inspect_project(self.project.root(), &self.settings, &self.plan_checks(plan)).await,
        )
    }

    fn plan_checks(&self, plan: &Plan) -> PlannedChecks {
        let validate = &self.settings.validate;
        let checks_of = |spec: &TaskSpec| match &spec.validate {
            Some(own) => own.clone(),
            None => validate.pre_commit.clone(),
        };
        let bare = plan.iter().filter(|(spec, _)| checks_of(spec).is_empty());
        let bare: Vec<String> = bare.map(|(spec, _)| spec.name.clone()).collect();
        let unchecked = match bare.len() {
            0 => UncheckedTasks::None,
            some if some == plan.iter().count() => UncheckedTasks::All,
            _ => UncheckedTasks::Some(bare),
        };
        let own: Vec<String> = plan.iter().flat_map(|(spec, _)| checks_of(spec)).collect();
        let mut commands: Vec<String> = Vec::new();
        for command in own.iter().chain(&validate.pre_push).chain(&validate.pre_pr) {
            if !commands.contains(command) {
                commands.push(command.clone());
            }
        }
        let suggested = detect_checks_of(self.project.root());
        PlannedChecks { commands, unchecked, suggested }
    }

    /// Returns the warning about a remote that git does not know, if the work is to be pushed there.
    pub(in crate::commands) async fn missing_remote(&self) -> Result<Option<String>, CliError> {
        let run = &self.settings.run;
        let remote = &run.remote;
        let wanted = run.push || run.pull_request;
        if !wanted || self.repository.git().knows_remote(remote).await? {
            return Ok(None);
        }
        Ok(Some(format!(
            "there is no remote {remote}, so nothing will be pushed. {}",
            render_remote_advice(remote, &self.repository.git().list_remotes().await?)
        )))
    }

    /// Returns what a person should know of the repository before the work begins: changes that agents do
    /// not see, and an author that git does not know.
    pub(in crate::commands) async fn repository_remarks(
        &self,
        plan: &Plan,
    ) -> Result<Vec<String>, CliError> {
        let git = self.repository.git();
        let mut remarks = Vec::new();
        if !self.settings.run.in_place {
            let files = plan.iter().filter_map(|(spec, _)| spec.file.as_deref());
            let inputs: Vec<&str> = files.chain([settings::FILE]).collect();
            let is_input = |path: &str| inputs.iter().any(|input| path.ends_with(input));
            // What git cannot compare stops the work at its own place, if at all.
            let entries = git.status().await.unwrap_or_default();
            let changed: Vec<String> = entries.iter().map(shown_change).collect();
            let changed: Vec<String> = changed.into_iter().filter(|path| !is_input(path)).collect();
            remarks.extend(render_unseen(&changed));
        }
        if git.read_author().await?.is_none() {
            remarks.push(
                "git does not know who you are, so commits are made as Unstuck <unstuck@localhost>. \
                 `git config user.name 'Your Name' && git config user.email you@example.com` \
                 changes that."
                    .to_owned(),
            );
        }
        Ok(remarks)
    }

    pub(in crate::commands) fn start_command(&self, plan: Plan) -> Command {
        let run = &self.settings.run;
        Command::StartBuild { plan: Arc::new(plan), slots: run.jobs, in_place: run.in_place }
    }

    /// Refuses to begin if a branch with the name of the next build already exists.
    pub(in crate::commands) async fn require_free_branch(
        &self,
        store: &Arc<dyn Store>,
    ) -> Result<(), CliError> {
        let builds = store.load_builds(self.project.name()).await?;
        let next = builds.iter().map(|row| row.id.0.saturating_add(1)).max().unwrap_or(0);
        Ok(self.repository.clear_build_names(BuildId(next)).await?)
    }

    pub(super) async fn start_build(
        &self,
        connection: &ProjectConnection,
        plan: Plan,
    ) -> Result<BuildId, CliError> {
        let events = connection.submit_command(self.start_command(plan)).await?;
        let started = events.iter().find_map(|recorded| recorded.event.started_build());
        started.ok_or_else(|| CliError::unknown("build", "", "unstuck status"))
    }

    pub(super) async fn resume_builds(
        &self,
        session: &ProjectSession,
        store: &Arc<dyn Store>,
        builds: &[BuildId],
    ) -> Result<(), CliError> {
        for row in store.load_builds(self.project.name()).await? {
            if builds.contains(&row.id) && matches!(row.state, BuildState::Paused { .. }) {
                session.submit_command(Command::Resume { build: row.id }).await?;
            }
        }
        Ok(())
    }

    /// Performs the effects of builds from now on. Builds that another process performs are waited for, or
    /// left to it.
    pub(in crate::commands) async fn perform_builds(
        &self,
        performing: &mut PerformedBuilds,
        connection: &ProjectConnection,
        store: &Arc<dyn Store>,
        builds: &[BuildId],
        others: OtherPerformers,
    ) -> Result<(), CliError> {
        for build in builds {
            if performing.is_performed(*build)? {
                continue;
            }
            let world = self.create_performer(performing.decider(), store, *build).await?;
            performing.begin_build(connection, *build, world, others).await?;
        }
        Ok(())
    }

    async fn create_performer(
        &self,
        decider: Arc<dyn Decider>,
        store: &Arc<dyn Store>,
        build: BuildId,
    ) -> Result<BuildPerformer, CliError> {
        let name = self.project.name();
        let tasks = store.load_build_tasks(name, build).await?;
        let own = self.load_other_settings(tasks.first().map(|row| &row.spec.options))?;
        let agents = match &own {
            Some((settings, policy)) => self.worker_factory_with(settings, policy),
            None => self.worker_factory(),
        };
        let head = self.repository.resolve_head().await?;
        let start = self.repository.ensure_build_start(build, &head).await?;
        let specs = tasks.iter().map(|row| &*row.spec);
        let repository = self.repository.clone();
        let settings = build_settings(&self.project, &agents, repository, start, specs).await?;
        let store = Arc::clone(store);
        let clock = Arc::new(SystemClock);
        Ok(BuildPerformer::new(settings, decider, store, &**name, clock))
    }
}

pub(super) async fn load_options(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    builds: &[BuildId],
) -> Result<RunOptions, CliError> {
    let mut options = Vec::new();
    for build in builds {
        let tasks = store.load_build_tasks(project.name(), *build).await?;
        options.extend(tasks.into_iter().next().map(|task| task.spec.options.clone()));
    }
    Ok(merge_options(options))
}

/// Returns the builds that have not ended and that this program performs, oldest first.
pub(in crate::commands) async fn load_open_builds(
    project: &LocalProject,
    store: &Arc<dyn Store>,
) -> Result<Vec<BuildId>, CliError> {
    let mut open = Vec::new();
    for row in store.load_builds(project.name()).await?.iter().rev() {
        if !row.is_performed_here() || row.state.has_ended() {
            continue;
        }
        // The session of an `unstuck mcp` client belongs to that client.
        let tasks = store.load_build_tasks(project.name(), row.id).await?;
        if !tasks.iter().any(|task| mcp::is_client_task(&task.spec)) {
            open.push(row.id);
        }
    }
    Ok(open)
}

/// Maximum number of changed files that are named.
const NAMED_MAX: usize = 3;

fn shown_change(entry: &StatusEntry) -> String {
    words::plain_line(&entry.relative_path().to_string_lossy())
}

/// Says which uncommitted changes agents do not see, if there are any.
fn render_unseen(changed: &[String]) -> Option<String> {
    let named = changed.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    let more = match changed.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!changed.is_empty()).then(|| {
        format!(
            "agents work from the last commit and do not see what you have not committed: {named}{more}"
        )
    })
}

/// Says how to add a remote, or which one to name instead.
fn render_remote_advice(missing: &str, known: &[String]) -> String {
    match known {
        [] => format!("`git remote add {missing} URL` adds it."),
        [one] => format!("There is {one}: `run.remote = \"{one}\"` in unstuck.toml pushes to it."),
        many => format!(
            "There are {}: `run.remote` in unstuck.toml names the one to push to.",
            many.join(", ")
        ),
    }
}
