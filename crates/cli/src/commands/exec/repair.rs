//! The job of a command, and its repair: which files of the project the command names, and by which agent they
//! are repaired when they are broken.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::plan::TaskSpec;
use unstuck_runner::repair::{RepairSettings, ScriptRepairer};
use unstuck_runner::{ScriptPerformer, SystemClock};
use unstuck_store::Store;
use unstuck_world::commands::NetworkIsolation;
use unstuck_world::process::GuardCommand;
use unstuck_world::workspace;

use super::{ExecArgs, RepairModeArg as How};
use crate::build::{self, RepairOptions, WorkerFactory, inspect_sandbox, repair_settings};
use crate::error::CliError;
use crate::project::{LocalProject, ProjectSession};
use crate::render;
use crate::settings::{JobSettings as Defined, Provider, RepairMode, Settings};

pub(crate) struct JobRepair {
    pub(crate) spec: TaskSpec,
    /// Set if the settings define the job.
    pub(super) is_defined: bool,
    settings: Option<RepairSettings>,
}

impl JobRepair {
    /// Determines the repair of a command. Without one the command is kept alive as well as possible.
    pub(super) async fn for_command(
        args: &ExecArgs,
        project: &LocalProject,
        dir: Option<&Path>,
        (spec, guard): (TaskSpec, &GuardCommand),
    ) -> Result<Self, CliError> {
        match Self::try_for_command(args, project, dir, (&spec, guard)).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            // Repair was not requested, so its failure is no reason not to run the command.
            Err(error) if args.repair.is_none() => {
                write_note(args, &format!("unstuck: it is not repaired when it breaks: {error}"));
            }
            Err(error) => return Err(error),
        }
        Ok(Self::without_repair(spec))
    }

    /// Determines the repair of a job of the settings. Without one it is kept alive as well as possible.
    pub(crate) async fn for_job(
        project: &LocalProject,
        job: &Defined,
        spec: TaskSpec,
        guard: &GuardCommand,
    ) -> Result<Self, CliError> {
        let resolved = project.settings()?;
        let settings = &resolved.settings;
        let found = if job.repair.mode == RepairMode::Off
            || settings.agent.provider.is_none()
            || !is_repository(project)
        {
            Self::without_repair(spec)
        } else if let Some(concern) = inspect_sandbox(settings) {
            // The script itself is the operator's own: only its repair is refused.
            let line = concern.to_line();
            render::write_note(&format!("unstuck: {} is not repaired: {line}", spec.name));
            Self::without_repair(spec)
        } else {
            let repository = workspace::ProjectRepository::open("git", project.root()).await?;
            let words: Vec<OsString> =
                job.run.to_words().iter().flat_map(|word| split_words(word)).collect();
            let directory = project.root().join(job.directory.as_deref().unwrap_or("."));
            let scope = match job.repair.scope.as_slice() {
                [] => find_tracked(&repository, &words, project, &directory).await?,
                given => given.to_vec(),
            };
            let validate = match job.validate.as_slice() {
                [] => settings.validate.pre_commit.clone(),
                given => given.to_vec(),
            };
            let wanted = RepairOptions {
                scope,
                attempts: job.repair.attempts,
                mode: job.repair.mode,
                after_mutation: job.repair.after_mutation,
                validate,
                dry_run: job.dry_run.clone(),
            };
            let command = command_name(&words);
            Self::with_agent(project, repository, (&spec, &wanted), command, guard).await?
        };
        Ok(Self { is_defined: true, ..found })
    }

    fn without_repair(spec: TaskSpec) -> Self {
        Self {
            spec: RepairOptions::disabled().apply_limits(spec),
            is_defined: false,
            settings: None,
        }
    }

    async fn with_agent(
        project: &LocalProject,
        repository: workspace::ProjectRepository,
        (spec, wanted): (&TaskSpec, &RepairOptions),
        command: String,
        guard: &GuardCommand,
    ) -> Result<Self, CliError> {
        let resolved = project.settings()?;
        let policy = Arc::new(resolved.policy.clone());
        let agents = WorkerFactory {
            settings: &resolved.settings,
            policy: &policy,
            root: project.root(),
            checkout: repository.checkout(),
            folder: repository.folder(),
            homes: project.agent_homes_folder(),
            guard,
            network: command_network(&resolved.settings).await,
        };
        let spec = wanted.complete_job(&agents, spec.clone())?;
        let job = (&spec, wanted);
        let settings = repair_settings(project, &agents, repository.clone(), job, command).await?;
        Ok(Self { spec, is_defined: false, settings: Some(settings) })
    }

    async fn try_for_command(
        args: &ExecArgs,
        project: &LocalProject,
        dir: Option<&Path>,
        (spec, guard): (&TaskSpec, &GuardCommand),
    ) -> Result<Option<Self>, CliError> {
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
        if let Some(concern) = inspect_sandbox(settings).filter(|_| !asked_for) {
            write_note(args, &format!("unstuck: this is not repaired: {}", concern.to_line()));
            return Ok(None);
        }
        let repository = workspace::ProjectRepository::open("git", project.root()).await?;
        let here = dir.unwrap_or(Path::new("."));
        let scope = find_tracked(&repository, &args.command, project, here).await?;
        if scope.is_empty() {
            if asked_for {
                write_note(args, NOTHING_NAMED);
            }
            return Ok(None);
        }
        let wanted = RepairOptions {
            scope,
            attempts: resolved.policy.retry.repairs,
            mode,
            after_mutation: false,
            validate: settings.validate.pre_commit.clone(),
            dry_run: None,
        };
        let command = command_name(&args.command);
        Self::with_agent(project, repository, (spec, &wanted), command, guard).await.map(Some)
    }

    /// Repairs the script of `world` from now on, with the decider of this session.
    pub(crate) fn attach_to(
        &self,
        world: &ScriptPerformer,
        session: &ProjectSession,
        store: &Arc<dyn Store>,
        project: &LocalProject,
    ) {
        let Some(settings) = self.settings.clone() else { return };
        let store = Arc::clone(store);
        let clock = Arc::new(SystemClock);
        let name = &**project.name();
        world.repair_with(ScriptRepairer::new(settings, session.decider(), store, name, clock));
    }
}

/// The note about a requested repair of a command that names no script.
const NOTHING_NAMED: &str = "unstuck: the command names no file of this project that git knows, so it \
                             cannot be repaired. Name its script on the command line.";

/// Writes a note for a person; not with `--json` or `--quiet`.
fn write_note(args: &ExecArgs, text: &str) {
    if !args.quiet && !args.json {
        render::write_note(text);
    }
}

fn is_repository(project: &LocalProject) -> bool {
    project.root().join(".git").exists()
}

/// Returns the name of a command without one: the command line, shortened.
pub(super) fn command_name(command: &[OsString]) -> String {
    const CHARACTERS_MAX: usize = 80;
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let whole = words.join(" ");
    match whole.char_indices().nth(CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…", &whole[..at]),
        None => whole,
    }
}

/// Returns the named files that the checked-out commit holds, because an agent works on that commit.
async fn find_tracked(
    repository: &workspace::ProjectRepository,
    command: &[OsString],
    project: &LocalProject,
    here: &Path,
) -> Result<Vec<String>, CliError> {
    let head = repository.resolve_head().await?;
    let mut scope = Vec::new();
    for name in find_named_files(command, project.root(), here) {
        let path = repository.folder().join(&name);
        if repository.git().has_path(&head, &path.to_string_lossy()).await? {
            scope.push(name);
        }
    }
    Ok(scope)
}

/// Splits a line into words that may name files; shell syntax is not interpreted.
fn split_words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// Returns the network access of commands of a model; agent programs take care of their own.
async fn command_network(settings: &Settings) -> NetworkIsolation {
    match settings.agent.provider {
        Some(Provider::AnthropicApi | Provider::OpenAiApi) => {
            build::command_network(&settings.commands.network).await
        }
        _ => NetworkIsolation::Open,
    }
}

/// Characters with a special meaning in a glob.
const MEANS_MORE: [char; 8] = ['*', '?', '[', ']', '{', '}', '!', '\\'];

/// Returns the files and folders inside `root` that a command names when it runs in `directory`, relative
/// to the root. A program that is looked up on the path is not a script of the project, and the root itself
/// does not count.
fn find_named_files(command: &[OsString], root: &Path, directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, word) in command.iter().enumerate() {
        let path = Path::new(word);
        if at == 0 && path.components().count() == 1 && path.parent() == Some(Path::new("")) {
            continue;
        }
        if let Some(name) = path_inside(root, &directory.join(path))
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

fn path_inside(root: &Path, path: &Path) -> Option<String> {
    let real: PathBuf = path.canonicalize().ok()?;
    let name = real.strip_prefix(root).ok()?.to_str()?;
    let plain = !name.is_empty() && !name.contains(MEANS_MORE);
    plain.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_inside_the_project_counts() {
        let owned = tempfile::tempdir().unwrap();
        let root = owned.path().canonicalize().unwrap();
        for folder in ["sync", "other"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        for file in ["sync/run.py", "run.sh", "python3", "odd[1].sh"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let names = |directory: &str, words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            find_named_files(&words, &root, &root.join(directory))
        };
        let none: [&str; 0] = [];
        assert_eq!(names("", &["python3", "sync/run.py", "--all"]), ["sync/run.py"]);
        assert_eq!(names("", &["./run.sh"]), ["run.sh"]);
        assert_eq!(names("sync", &["python3", "run.py", "../run.sh"]), ["sync/run.py", "run.sh"]);
        assert_eq!(names("", &["make", "-C", "sync"]), ["sync"]);
        assert_eq!(names("", &["sh", "run.sh", "run.sh"]), ["run.sh"]);
        assert_eq!(names("", &["sh", "-c", "./run.sh"]), ["run.sh"]);
        assert_eq!(names("", &["sh", "-c", "cat run.sh | sh"]), none);
        assert_eq!(names("", &["sh", "."]), none);
        assert_eq!(names("", &["sh", "/etc/passwd", "../..", "odd[1].sh", "gone.sh"]), none);
    }
}
