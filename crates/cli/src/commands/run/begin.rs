//! Begins a build: its workers, its plan and its performer.

use std::sync::Arc;

use unstuck_core::engine::{BuildId, BuildState, Command};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_runner::build::BuildWorld;
use unstuck_runner::{Decider, SystemClock};
use unstuck_store::Store;
use unstuck_world::commands::{Network, Rules};
use unstuck_world::process::Guard;
use unstuck_world::workspace;

use super::performing::{Others, Performing};
use crate::build::{Agents, Concern, build_settings, complete, inspect, refuse};
use crate::commands::mcp;
use crate::error::Error;
use crate::project::{Post, Project, Seat};
use crate::settings::{Resolved, RunOptions, Settings, joined_options, load_under};

/// The parts that perform builds of a project.
pub(in crate::commands) struct Crew {
    project: Project,
    settings: Settings,
    policy: Arc<Policy>,
    repository: workspace::Project,
    guard: Guard,
    network: Network,
    /// The options from which its settings come.
    options: RunOptions,
}

impl Crew {
    pub(in crate::commands) async fn gather(
        project: &Project,
        resolved: Resolved,
    ) -> Result<Self, Error> {
        let Resolved { settings, policy, .. } = resolved;
        let repository = workspace::Project::open("git", project.root()).await?;
        let rules = Rules { network: settings.commands.network.is_open(), ..Rules::default() };
        Ok(Self {
            project: project.clone(),
            settings,
            policy: Arc::new(policy),
            repository,
            guard: super::guard()?,
            network: Network::of(&rules).await,
            options: RunOptions::new(),
        })
    }

    /// Sets the options from which its settings come.
    pub(super) fn under(self, options: RunOptions) -> Self {
        Self { options, ..self }
    }

    /// Returns the settings and the policy of a build that was started with other options.
    fn other(
        &self,
        options: Option<&RunOptions>,
    ) -> Result<Option<(Settings, Arc<Policy>)>, Error> {
        let Some(options) = options.filter(|options| **options != self.options) else {
            return Ok(None);
        };
        let Resolved { settings, policy, .. } = load_under(self.project.root(), options, None)?;
        Ok(Some((settings, Arc::new(policy))))
    }

    pub(super) fn agents(&self) -> Agents<'_> {
        self.agents_under(&self.settings, &self.policy)
    }

    fn agents_of<'a>(&'a self, own: &'a (Settings, Arc<Policy>)) -> Agents<'a> {
        self.agents_under(&own.0, &own.1)
    }

    fn agents_under<'a>(&'a self, settings: &'a Settings, policy: &'a Arc<Policy>) -> Agents<'a> {
        Agents {
            settings,
            policy,
            root: self.project.root(),
            homes: self.project.homes(),
            guard: &self.guard,
            network: self.network,
        }
    }

    pub(super) const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the plan, with all that the engine needs about each task.
    pub(in crate::commands) fn plan(&self, tasks: Vec<TaskSpec>) -> Result<Plan, Error> {
        let agents = self.agents();
        let tasks = tasks.into_iter().map(|task| complete(&agents, task));
        Ok(Plan::new(tasks.collect::<Result<_, _>>()?)?)
    }

    /// Checks that all workers of the plan could begin, and returns the warnings. Makes no call to a model.
    pub(in crate::commands) async fn check(&self, plan: &Plan) -> Result<Vec<Concern>, Error> {
        if self.settings.run.in_place {
            self.repository.require_clean().await?;
        }
        let agents = self.agents();
        let mut checked = Vec::new();
        for (spec, _) in plan.iter() {
            let key = (spec.provider.clone(), spec.model.clone());
            let worker = agents.worker(spec)?;
            if !checked.contains(&key) {
                worker.check().await?;
                checked.push(key);
            }
        }
        refuse(inspect(self.project.root(), &self.settings, &self.checks_of(plan)).await)
    }

    /// Returns all check commands of the plan, each once.
    fn checks_of(&self, plan: &Plan) -> Vec<String> {
        let validate = &self.settings.validate;
        let own = plan
            .iter()
            .flat_map(|(spec, _)| spec.validate.as_ref().unwrap_or(&validate.pre_commit).iter());
        let mut commands: Vec<String> = Vec::new();
        for command in own.chain(&validate.pre_push).chain(&validate.pre_pr) {
            if !commands.contains(command) {
                commands.push(command.clone());
            }
        }
        commands
    }

    /// Returns the warning about a remote that git does not know, if the work is to be pushed there.
    pub(super) async fn missing_remote(&self) -> Result<Option<String>, Error> {
        let run = &self.settings.run;
        let remote = &run.remote;
        let wanted = run.push || run.pull_request;
        if !wanted || self.repository.git().knows_remote(remote).await? {
            return Ok(None);
        }
        Ok(Some(format!(
            "unstuck: there is no remote {remote}, so nothing will be pushed. `git remote add \
             {remote} URL` adds it, `run.remote` in unstuck.toml names another."
        )))
    }

    /// Returns the command that starts a build of the plan.
    pub(in crate::commands) fn start(&self, plan: Plan) -> Command {
        let run = &self.settings.run;
        Command::StartBuild { plan: Arc::new(plan), slots: run.jobs, in_place: run.in_place }
    }

    /// Refuses to begin if a branch with the name of the next build already exists.
    pub(in crate::commands) async fn make_way(&self, store: &Arc<dyn Store>) -> Result<(), Error> {
        let builds = store.builds(self.project.name()).await?;
        let next = builds.iter().map(|row| row.id.0.saturating_add(1)).max().unwrap_or(0);
        Ok(self.repository.make_way(BuildId(next)).await?)
    }

    /// Starts a build and returns its id.
    pub(super) async fn begin(&self, post: &Post, plan: Plan) -> Result<BuildId, Error> {
        let events = post.command(self.start(plan)).await?;
        let started = events.iter().find_map(|recorded| recorded.event.starts());
        started.ok_or_else(|| Error::Unknown {
            what: "build",
            name: String::new(),
            list: "unstuck status",
        })
    }

    /// Resumes paused builds.
    pub(super) async fn let_go_on(
        &self,
        seat: &Seat,
        store: &Arc<dyn Store>,
        builds: &[BuildId],
    ) -> Result<(), Error> {
        for row in store.builds(self.project.name()).await? {
            if builds.contains(&row.id) && matches!(row.state, BuildState::Paused { .. }) {
                seat.command(Command::Resume { build: row.id }).await?;
            }
        }
        Ok(())
    }

    /// Performs the effects of builds from now on. Builds that another process performs are waited for, or
    /// left to it.
    pub(in crate::commands) async fn perform(
        &self,
        performing: &mut Performing,
        post: &Post,
        store: &Arc<dyn Store>,
        builds: &[BuildId],
        others: Others,
    ) -> Result<(), Error> {
        for build in builds {
            if performing.has(*build)? {
                continue;
            }
            let world = self.world(performing.decider(), store, *build).await?;
            performing.begin(post, *build, world, others).await?;
        }
        Ok(())
    }

    async fn world(
        &self,
        decider: Arc<dyn Decider>,
        store: &Arc<dyn Store>,
        build: BuildId,
    ) -> Result<BuildWorld, Error> {
        let name = self.project.name();
        let tasks = store.tasks(name, build).await?;
        let own = self.other(tasks.first().map(|row| &row.spec.options))?;
        let agents = own.as_ref().map_or_else(|| self.agents(), |own| self.agents_of(own));
        let head = self.repository.head().await?;
        let start = self.repository.build_start(build, &head).await?;
        let specs = tasks.iter().map(|row| &*row.spec);
        let repository = self.repository.clone();
        let settings = build_settings(&self.project, &agents, repository, start, specs).await?;
        let store = Arc::clone(store);
        let clock = Arc::new(SystemClock);
        Ok(BuildWorld::new(settings, decider, store, &**name, clock))
    }
}

/// Returns the options with which these builds were started.
pub(super) async fn options_of(
    project: &Project,
    store: &Arc<dyn Store>,
    builds: &[BuildId],
) -> Result<RunOptions, Error> {
    let mut options = Vec::new();
    for build in builds {
        let tasks = store.tasks(project.name(), *build).await?;
        options.extend(tasks.into_iter().next().map(|task| task.spec.options.clone()));
    }
    Ok(joined_options(options))
}

/// Returns the builds that have not ended and that this program performs, oldest first.
pub(in crate::commands) async fn open_builds(
    project: &Project,
    store: &Arc<dyn Store>,
) -> Result<Vec<BuildId>, Error> {
    let mut open = Vec::new();
    for row in store.builds(project.name()).await?.iter().rev() {
        if !row.is_performed_here() || row.state.has_ended() {
            continue;
        }
        // The session of an `unstuck mcp` client belongs to that client.
        let tasks = store.tasks(project.name(), row.id).await?;
        if !tasks.iter().any(|task| mcp::is_of_a_client(&task.spec)) {
            open.push(row.id);
        }
    }
    Ok(open)
}
