//! Whether a command is repaired when its own code is broken, and by whom.

use std::path::{Path, PathBuf};
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
use crate::build::{Agents, RepairMode, RepairWanted, repair_settings};
use crate::error::Error;
use crate::project::{Project, Seat};
use crate::render;
use crate::settings::{Provider, Settings};

/// The job that a command is, and who repairs it.
pub(super) struct Repair {
    pub(super) spec: TaskSpec,
    settings: Option<RepairSettings>,
}

impl Repair {
    /// Finds out who repairs it. Without anybody it is kept alive as well as it can be.
    pub(super) async fn find(
        args: &Exec,
        project: &Project,
        dir: Option<&Path>,
        (spec, guard): (TaskSpec, &Guard),
    ) -> Result<Self, Error> {
        match Self::found(args, project, dir, (&spec, guard)).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            // Nobody asked for it, so it is no reason not to run the command.
            Err(error) if args.repair.is_none() => {
                note(args, &format!("unstuck: it is not repaired when it breaks: {error}"));
            }
            Err(error) => return Err(error),
        }
        Ok(Self { spec: RepairWanted::off().limits(spec), settings: None })
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
        // Whoever needs them says what is wrong with them.
        let Ok(resolved) = project.settings() else { return Ok(None) };
        let settings = &resolved.settings;
        let asked_for = args.repair.is_some();
        if !asked_for && (settings.agent.provider.is_none() || !is_repository(project)) {
            return Ok(None);
        }
        let repository = workspace::Project::open("git", project.root()).await?;
        let scope = tracked(&repository, args, project, dir).await?;
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
        let policy = Arc::new(resolved.policy.clone());
        let network = network(settings).await;
        let agents = agents(project, settings, &policy, guard, network);
        let spec = wanted.job(&agents, spec.clone())?;
        let command = super::job::name(&args.command);
        let job = (&spec, &wanted);
        let settings = repair_settings(project, &agents, repository, job, command).await?;
        Ok(Some(Self { spec, settings: Some(settings) }))
    }

    /// From now on the script of `world` is repaired, with whoever decides at this seat.
    pub(super) fn attach(
        &self,
        world: &ScriptWorld,
        seat: &Seat,
        store: &Arc<dyn Store>,
        project: &Project,
    ) {
        let Some(settings) = self.settings.clone() else { return };
        let (store, clock) = (Arc::clone(store), Arc::new(SystemClock));
        let name = &**project.name();
        world.repair_with(Repairer::new(settings, seat.decider(), store, name, clock));
    }
}

/// Somebody asked for repairs of a command that names no script.
const NOTHING_NAMED: &str = "unstuck: the command names no file of this project that git knows, so it \
                             cannot be repaired. Name its script on the command line.";

/// Says something to a person; programs and those who want to hear little are not bothered.
fn note(args: &Exec, text: &str) {
    if !args.quiet && !args.json {
        render::note(text);
    }
}

fn is_repository(project: &Project) -> bool {
    project.root().join(".git").exists()
}

/// What the command names and the commit that is checked out holds: an agent works on that.
async fn tracked(
    repository: &workspace::Project,
    args: &Exec,
    project: &Project,
    dir: Option<&Path>,
) -> Result<Vec<String>, Error> {
    let here: PathBuf = dir.unwrap_or(Path::new(".")).to_owned();
    let head = repository.head().await?;
    let mut scope = Vec::new();
    for name in named(&args.command, project.root(), &here) {
        if repository.git().holds(&head, &name).await? {
            scope.push(name);
        }
    }
    Ok(scope)
}

/// How commands of a model stand to the network; programs see to that themselves.
async fn network(settings: &Settings) -> Network {
    match settings.agent.provider {
        Some(Provider::AnthropicApi | Provider::OpenAiApi) => {
            let rules = Rules { network: settings.commands.network, ..Rules::default() };
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
    let (root, homes) = (project.root(), project.homes());
    Agents { settings, policy, root, homes, guard, network }
}
