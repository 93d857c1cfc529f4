//! Creates the worker and the scope for the repair of a job's script, from the settings.

use std::ffi::OsString;

use unstuck_core::fault::CheckStage;
use unstuck_core::plan::{JobSpec, ScopeSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::build::{BuildSettings, TaskGates, TaskSettings};
use unstuck_runner::repair::RepairSettings;
use unstuck_world::scope::{PathScope, ScopeMode, ScopeRules, place_patterns};
use unstuck_world::validate::{BaselineMode, GateChecks};
use unstuck_world::workspace;

use super::deciding_paths::find_deciding_paths;
use super::provider::WorkerFactory;
use super::settings::build_settings;
use super::task::{bad_glob_error, task_settings};
use crate::error::CliError;
use crate::project::LocalProject;
use crate::settings::RepairMode;

/// Paths that no repair may change in addition, whatever its scope.
const NEVER: [&str; 2] = [".github", "**/.gitattributes"];

/// The environment variable that is set for all commands of a repair.
const DRY_RUN: &str = "UNSTUCK_DRY_RUN";

/// The part of the prompt about the limits of a repair beside its paths.
const FENCE: &str = "\
This is a repair, not a run of the job:
- Do not perform the job's actions and do not call outside services. Whatever you run finds \
UNSTUCK_DRY_RUN=1 in its environment.
- Give no file a right that it had not: make nothing executable, and no links.
- The checks are put back before they run. A change to them is lost, or fails the repair.
- Keep the script's arguments, its output and the keys of its actions as they are, unless they are \
what is broken.";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepairOptions {
    /// Paths that may be changed, as globs from the root of the project. Empty: no repair.
    pub(crate) scope: Vec<String>,
    /// Number of repairs before a person is asked.
    pub(crate) attempts: u32,
    pub(crate) mode: RepairMode,
    /// Use a repair even after an action of the firing was applied.
    pub(crate) after_mutation: bool,
    /// Commands that must pass before a repair is used.
    pub(crate) validate: Vec<String>,
    /// A run of the script that changes nothing, which must pass as well.
    pub(crate) dry_run: Option<String>,
}

impl RepairOptions {
    pub(crate) const fn disabled() -> Self {
        Self {
            scope: Vec::new(),
            attempts: 0,
            mode: RepairMode::Off,
            after_mutation: false,
            validate: Vec::new(),
            dry_run: None,
        }
    }

    /// Returns whether repairs are on: a mode, attempts and a scope.
    pub(crate) const fn is_on(&self) -> bool {
        !matches!(self.mode, RepairMode::Off) && self.attempts > 0 && !self.scope.is_empty()
    }

    /// Returns the job for the engine, with the account that its repairs need and their number.
    pub(crate) fn complete_job(
        &self,
        agents: &WorkerFactory<'_>,
        spec: TaskSpec,
    ) -> Result<TaskSpec, CliError> {
        let gate =
            if self.is_on() { agents.account_gate(agents.provider_for(&spec)?) } else { spec.gate };
        Ok(self.apply_limits(TaskSpec { gate, ..spec }))
    }

    /// Adds the repair limits to the job. This needs no agent, so it serves jobs without repair too.
    pub(crate) fn apply_limits(&self, spec: TaskSpec) -> TaskSpec {
        let attempts = if self.is_on() { self.attempts } else { 0 };
        TaskSpec {
            job: Some(JobSpec {
                propose_only: self.mode == RepairMode::Propose,
                repair_after_mutation: self.after_mutation,
                ..spec.job.unwrap_or_default()
            }),
            overrides: Overrides { repairs: Some(attempts), ..spec.overrides },
            ..spec
        }
    }
}

/// Returns the settings that perform the repairs of a job that runs `command`.
pub(crate) async fn repair_settings(
    project: &LocalProject,
    agents: &WorkerFactory<'_>,
    repository: workspace::ProjectRepository,
    (spec, wanted): (&TaskSpec, &RepairOptions),
    command: String,
) -> Result<RepairSettings, CliError> {
    let task = repair_task_settings(agents, spec, wanted)?;
    let start = repository.resolve_head().await?;
    let none = std::iter::empty::<&TaskSpec>();
    let mut work = build_settings(project, agents, repository, start, none).await?;
    work.environment.retain(|(name, _)| name != DRY_RUN);
    work.environment.push((DRY_RUN.into(), OsString::from("1")));
    Ok(RepairSettings {
        work: BuildSettings {
            in_place: false,
            says_walls: false,
            remote: None,
            pull_request: false,
            tasks: [(spec.name.clone(), task)].into(),
            ..work
        },
        command,
    })
}

/// Returns the settings of the job as a task: its scope is strict, and its checks must be green.
fn repair_task_settings(
    agents: &WorkerFactory<'_>,
    spec: &TaskSpec,
    wanted: &RepairOptions,
) -> Result<TaskSettings, CliError> {
    let settings = agents.settings;
    let proof: Vec<String> = wanted.validate.iter().chain(&wanted.dry_run).cloned().collect();
    let deciding = find_deciding_paths(agents.root);
    let never = deciding.globs.into_iter().chain(NEVER.iter().map(|&path| path.to_owned()));
    let forbidden: Vec<String> = never.chain(settings.scope.ask_first.iter().cloned()).collect();
    let repaired = TaskSpec {
        validate: Some(proof.clone()),
        scope: ScopeSpec { allowed: wanted.scope.clone(), forbidden: forbidden.clone() },
        // The runner adds the purpose of the job.
        brief: String::new(),
        ..spec.clone()
    };
    let rules = ScopeRules {
        folder: agents.folder.to_owned(),
        mode: ScopeMode::Strict,
        allowed: wanted.scope.clone(),
        forbidden: settings.scope.forbidden.iter().chain(&forbidden).cloned().collect(),
        ..ScopeRules::default()
    };
    let checks = |gate, commands: &[String]| {
        let protect = place_patterns(agents.folder, &settings.validate.protect);
        let checks = GateChecks::new(gate, commands, &protect);
        checks
            .map(GateChecks::with_firm_protection)
            .map_err(|bad| bad_glob_error("validate.protect", &bad))
    };
    let usual = task_settings(agents, &repaired)?;
    Ok(TaskSettings {
        scope: PathScope::new(&rules).map_err(|bad| bad_glob_error("repair.scope", &bad))?,
        gates: TaskGates {
            pre_commit: checks(CheckStage::PreCommit, &proof)?,
            pre_push: checks(CheckStage::PrePush, &[])?,
            pre_pr: checks(CheckStage::PrePr, &[])?,
            // The check that was red before is the one to be repaired.
            baseline: BaselineMode::Green,
        },
        brief: format!("{}\n\n{FENCE}", usual.brief),
        ..usual
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_repaired_only_where_there_is_something_to_repair() {
        let on = RepairOptions {
            scope: vec!["sync.sh".to_owned()],
            attempts: 3,
            mode: RepairMode::Commit,
            ..RepairOptions::disabled()
        };
        let propose = RepairOptions { mode: RepairMode::Propose, ..on.clone() };
        let table = [
            (on.clone(), 3, false),
            (propose, 3, true),
            (RepairOptions { scope: Vec::new(), ..on.clone() }, 0, false),
            (RepairOptions { mode: RepairMode::Off, ..on }, 0, false),
            (RepairOptions::disabled(), 0, false),
        ];
        for (wanted, repairs, propose_only) in table {
            let spec = wanted.apply_limits(TaskSpec::default());
            let job = spec.job.unwrap();
            assert_eq!((spec.overrides.repairs, job.propose_only), (Some(repairs), propose_only));
        }
    }
}
