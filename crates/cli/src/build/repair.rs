//! Creates the worker and the scope for the repair of a job's script, from the settings.

use std::ffi::OsString;

use unstuck_core::fault::Gate;
use unstuck_core::plan::{JobSpec, ScopeSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::build::{BuildSettings, Gates, TaskSettings};
use unstuck_runner::repair::RepairSettings;
use unstuck_world::scope::{Mode, Rules, Scope};
use unstuck_world::validate::{BaselineMode, Checks};
use unstuck_world::workspace;

use super::agents::Agents;
use super::settings::build_settings;
use super::task::{DECIDING, bad_glob, task_settings};
use crate::error::Error;
use crate::project::Project;
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

/// The repair settings of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepairWanted {
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

impl RepairWanted {
    /// Returns settings without repair.
    pub(crate) const fn off() -> Self {
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
    pub(crate) fn job(&self, agents: &Agents<'_>, spec: TaskSpec) -> Result<TaskSpec, Error> {
        let gate = if self.is_on() { agents.gate(agents.of(&spec)?) } else { spec.gate };
        Ok(self.limits(TaskSpec { gate, ..spec }))
    }

    /// Adds the repair limits to the job. This needs no agent, so it serves jobs without repair too.
    pub(crate) fn limits(&self, spec: TaskSpec) -> TaskSpec {
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
    project: &Project,
    agents: &Agents<'_>,
    repository: workspace::Project,
    (spec, wanted): (&TaskSpec, &RepairWanted),
    command: String,
) -> Result<RepairSettings, Error> {
    let task = task(agents, spec, wanted)?;
    let start = repository.head().await?;
    let none = std::iter::empty::<&TaskSpec>();
    let mut work = build_settings(project, agents, repository, start, none).await?;
    work.environment.retain(|(name, _)| name != DRY_RUN);
    work.environment.push((DRY_RUN.into(), OsString::from("1")));
    Ok(RepairSettings {
        work: BuildSettings {
            in_place: false,
            says_walls: false,
            // The repairing agent declares and performs no actions of the job.
            control: None,
            remote: None,
            pull_request: false,
            tasks: [(spec.name.clone(), task)].into(),
            ..work
        },
        command,
    })
}

/// Returns the settings of the job as a task: its scope is strict, and its checks must be green.
fn task(
    agents: &Agents<'_>,
    spec: &TaskSpec,
    wanted: &RepairWanted,
) -> Result<TaskSettings, Error> {
    let settings = agents.settings;
    let proof: Vec<String> = wanted.validate.iter().chain(&wanted.dry_run).cloned().collect();
    let never = DECIDING.iter().chain(&NEVER).map(|&path| path.to_owned());
    let forbidden: Vec<String> = never.chain(settings.scope.ask_first.iter().cloned()).collect();
    let repaired = TaskSpec {
        validate: Some(proof.clone()),
        scope: ScopeSpec { allowed: wanted.scope.clone(), forbidden: forbidden.clone() },
        // The runner adds the purpose of the job.
        brief: String::new(),
        ..spec.clone()
    };
    let rules = Rules {
        mode: Mode::Strict,
        allowed: wanted.scope.clone(),
        forbidden: settings.scope.forbidden.iter().chain(&forbidden).cloned().collect(),
        ask_first: Vec::new(),
        ask_unless_named: Vec::new(),
        tell_first: Vec::new(),
    };
    let checks = |gate, commands: &[String]| {
        let checks = Checks::new(gate, commands, &settings.validate.protect);
        checks.map(Checks::firm).map_err(|bad| bad_glob("validate.protect", &bad))
    };
    let usual = task_settings(agents, &repaired)?;
    Ok(TaskSettings {
        scope: Scope::new(&rules).map_err(|bad| bad_glob("repair.scope", &bad))?,
        gates: Gates {
            pre_commit: checks(Gate::PreCommit, &proof)?,
            pre_push: checks(Gate::PrePush, &[])?,
            pre_pr: checks(Gate::PrePr, &[])?,
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
        let on = RepairWanted {
            scope: vec!["sync.sh".to_owned()],
            attempts: 3,
            mode: RepairMode::Commit,
            ..RepairWanted::off()
        };
        let propose = RepairWanted { mode: RepairMode::Propose, ..on.clone() };
        let table = [
            (on.clone(), 3, false),
            (propose, 3, true),
            (RepairWanted { scope: Vec::new(), ..on.clone() }, 0, false),
            (RepairWanted { mode: RepairMode::Off, ..on }, 0, false),
            (RepairWanted::off(), 0, false),
        ];
        for (wanted, repairs, propose_only) in table {
            let spec = wanted.limits(TaskSpec::default());
            let job = spec.job.unwrap();
            assert_eq!((spec.overrides.repairs, job.propose_only), (Some(repairs), propose_only));
        }
    }
}
