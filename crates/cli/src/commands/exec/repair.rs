//! Determines whether and by which agent a command is repaired when its own code is broken.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::plan::TaskSpec;
use unstuck_core::policy::Policy;
use unstuck_runner::repair::{RepairSettings, Repairer};
use unstuck_runner::{ScriptWorld, SystemClock};
use unstuck_store::Store;
use unstuck_world::commands::{Network, Rules};
use unstuck_world::process::Guard;
use unstuck_world::workspace;

use super::named::named;
use crate::args::{Exec, Repair as How};
use crate::build::{Agents, RepairWanted, repair_settings};
use crate::error::Error;
use crate::project::{Project, Seat};
use crate::render;
use crate::settings::{Job as Defined, Provider, RepairMode, Settings};

/// The job of a command, and its repair.
pub(crate) struct Repair {
    pub(crate) spec: TaskSpec,
    /// Set if the settings define the job.
    pub(super) is_defined: bool,
    settings: Option<RepairSettings>,
}

impl Repair {
    /// Determines the repair of a command. Without one the command is kept alive as well as possible.
    pub(super) async fn find(
        args: &Exec,
        project: &Project,
        dir: Option<&Path>,
        (spec, guard): (TaskSpec, &Guard),
    ) -> Result<Self, Error> {
        match Self::found(args, project, dir, (&spec, guard)).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            // Repair was not requested, so its failure is no reason not to run the command.
            Err(error) if args.repair.is_none() => {
                note(args, &format!("unstuck: it is not repaired when it breaks: {error}"));
            }
            Err(error) => return Err(error),
        }
        Ok(Self::by_nobody(spec))
    }

    /// Determines the repair of a job of the settings. Without one it is kept alive as well as possible.
    pub(crate) async fn of_job(
        project: &Project,
        job: &Defined,
        spec: TaskSpec,
        guard: &Guard,
    ) -> Result<Self, Error> {
        let resolved = project.settings()?;
        let settings = &resolved.settings;
        let found = if job.repair.mode == RepairMode::Off
            || settings.agent.provider.is_none()
            || !is_repository(project)
        {
            Self::by_nobody(spec)
        } else {
            let repository = workspace::Project::open("git", project.root()).await?;
            let words: Vec<OsString> =
                job.run.words().iter().flat_map(|word| split(word)).collect();
            let directory = project.root().join(job.directory.as_deref().unwrap_or("."));
            let scope = match job.repair.scope.as_slice() {
                [] => tracked(&repository, &words, project, &directory).await?,
                given => given.to_vec(),
            };
            let validate = match job.validate.as_slice() {
                [] => settings.validate.pre_commit.clone(),
                given => given.to_vec(),
            };
            let wanted = RepairWanted {
                scope,
                attempts: job.repair.attempts,
                mode: job.repair.mode,
                after_mutation: job.repair.after_mutation,
                validate,
                dry_run: job.dry_run.clone(),
            };
            let command = super::job::name(&words);
            Self::with(project, repository, (&spec, &wanted), command, guard).await?
        };
        Ok(Self { is_defined: true, ..found })
    }

    fn by_nobody(spec: TaskSpec) -> Self {
        Self { spec: RepairWanted::off().limits(spec), is_defined: false, settings: None }
    }

    async fn with(
        project: &Project,
        repository: workspace::Project,
        (spec, wanted): (&TaskSpec, &RepairWanted),
        command: String,
        guard: &Guard,
    ) -> Result<Self, Error> {
        let resolved = project.settings()?;
        let policy = Arc::new(resolved.policy.clone());
        let network = network(&resolved.settings).await;
        let agents = agents(project, &resolved.settings, &policy, guard, network);
        let spec = wanted.job(&agents, spec.clone())?;
        let job = (&spec, wanted);
        let settings = repair_settings(project, &agents, repository, job, command).await?;
        Ok(Self { spec, is_defined: false, settings: Some(settings) })
    }

    async fn found(
        args: &Exec,
        project: &Project,
        dir: Option<&Path>,
        (spec, guard): (&TaskSpec, &Guard),
    ) -> Result<Option<Self>, Error> {
        let mode = match args.repair {
            Some(How::Off) => return Ok(None),
            Some(How::Propose) => RepairMode::Propose,
            Some(How::Commit) | None => RepairMode::Commit,
        };
        // The part that needs the settings reports what is wrong with them.
        let Ok(resolved) = project.settings() else { return Ok(None) };
        let settings = &resolved.settings;
        let asked_for = args.repair.is_some();
        if !asked_for && (settings.agent.provider.is_none() || !is_repository(project)) {
            return Ok(None);
        }
        let repository = workspace::Project::open("git", project.root()).await?;
        let here = dir.unwrap_or(Path::new("."));
        let scope = tracked(&repository, &args.command, project, here).await?;
        if scope.is_empty() {
            if asked_for {
                note(args, NOTHING_NAMED);
            }
            return Ok(None);
        }
        let wanted = RepairWanted {
            scope,
            attempts: resolved.policy.retry.repairs,
            mode,
            after_mutation: false,
            validate: settings.validate.pre_commit.clone(),
            dry_run: None,
        };
        let command = super::job::name(&args.command);
        Self::with(project, repository, (spec, &wanted), command, guard).await.map(Some)
    }

    /// Repairs the script of `world` from now on, with the decider of this seat.
    pub(crate) fn attach(
        &self,
        world: &ScriptWorld,
        seat: &Seat,
        store: &Arc<dyn Store>,
        project: &Project,
    ) {
        let Some(settings) = self.settings.clone() else { return };
        let store = Arc::clone(store);
        let clock = Arc::new(SystemClock);
        let name = &**project.name();
        world.repair_with(Repairer::new(settings, seat.decider(), store, name, clock));
    }
}

/// The note about a requested repair of a command that names no script.
const NOTHING_NAMED: &str = "unstuck: the command names no file of this project that git knows, so it \
                             cannot be repaired. Name its script on the command line.";

/// Writes a note for a person; not with `--json` or `--quiet`.
fn note(args: &Exec, text: &str) {
    if !args.quiet && !args.json {
        render::note(text);
    }
}

fn is_repository(project: &Project) -> bool {
    project.root().join(".git").exists()
}

/// Returns the named files that the checked-out commit holds, because an agent works on that commit.
async fn tracked(
    repository: &workspace::Project,
    command: &[OsString],
    project: &Project,
    here: &Path,
) -> Result<Vec<String>, Error> {
    let head = repository.head().await?;
    let mut scope = Vec::new();
    for name in named(command, project.root(), here) {
        if repository.git().holds(&head, &name).await? {
            scope.push(name);
        }
    }
    Ok(scope)
}

/// Splits a line into words that may name files; shell syntax is not interpreted.
fn split(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// Returns the network access of commands of a model; agent programs take care of their own.
async fn network(settings: &Settings) -> Network {
    match settings.agent.provider {
        Some(Provider::AnthropicApi | Provider::OpenAiApi) => {
            let rules = Rules { network: settings.commands.network.is_open(), ..Rules::default() };
            Network::of(&rules).await
        }
        _ => Network::Open,
    }
}

fn agents<'a>(
    project: &'a Project,
    settings: &'a Settings,
    policy: &'a Arc<Policy>,
    guard: &'a Guard,
    network: Network,
) -> Agents<'a> {
    let root = project.root();
    let homes = project.homes();
    Agents { settings, policy, root, homes, guard, network }
}
