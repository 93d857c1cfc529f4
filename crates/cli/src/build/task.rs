//! One task: what it lacks is taken from the settings, and what performs it is made.

use std::sync::Arc;

use unstuck_core::fault::{Code, Gate};
use unstuck_core::plan::{MutationKind, MutationSpec, TaskSpec};
use unstuck_runner::build::{Gates, TaskSettings};
use unstuck_world::agent::Limits;
use unstuck_world::provider::prices::Prices;
use unstuck_world::scope::{self, BadPattern, Rules, Scope};
use unstuck_world::validate::{BaselineMode, Checks, defining_files};

use super::agents::Agents;
use super::brief::brief;
use crate::error::Error;
use crate::problem::Problem;
use crate::settings::{Baseline, FILE, Mode, Settings};

/// The task as the engine gets it: with its account, and what happens after its checks.
pub(crate) fn complete(agents: &Agents<'_>, spec: TaskSpec) -> Result<TaskSpec, Error> {
    let provider = agents.of(&spec)?;
    let run = &agents.settings.run;
    let mut mutations = vec![of_git("merge", MutationKind::Merge)];
    if run.push {
        mutations.push(of_git("push", MutationKind::Push));
    }
    mutations.extend(spec.mutations);
    let scope = unstuck_core::plan::ScopeSpec {
        allowed: allowed(agents.settings, &spec.scope.allowed),
        ..spec.scope
    };
    Ok(TaskSpec {
        provider: Some(provider.name().to_owned()),
        gate: agents.gate(provider),
        scope,
        mutations,
        ..spec
    })
}

/// What a task may change: what it says itself, or what the settings say.
fn allowed(settings: &Settings, own: &[String]) -> Vec<String> {
    if own.is_empty() { settings.scope.allowed.clone() } else { own.to_vec() }
}

fn of_git(key: &str, kind: MutationKind) -> Arc<MutationSpec> {
    Arc::new(MutationSpec {
        key: key.to_owned(),
        kind,
        idempotent: true,
        probe: true,
        ..MutationSpec::default()
    })
}

/// What performs a task.
pub(crate) fn task_settings(agents: &Agents<'_>, spec: &TaskSpec) -> Result<TaskSettings, Error> {
    let settings = agents.settings;
    let allowed = allowed(settings, &spec.scope.allowed);
    let worker = agents.worker(spec)?;
    let model = agents.model(spec);
    let (run, validate) = (&settings.run, &settings.validate);
    let pre_commit = spec.validate.as_ref().unwrap_or(&validate.pre_commit);
    let checks = |gate, commands: &[String]| {
        let checks = Checks::new(gate, commands, &validate.protect)
            .map_err(|bad| bad_glob("validate.protect", &bad))?;
        let mut defining = defining_files(agents.root, commands);
        defining.push(FILE.into());
        Ok::<_, Error>(checks.defined_by(defining))
    };
    Ok(TaskSettings {
        price: model.as_deref().and_then(|model| Prices::default().of(model)),
        limits: Limits {
            turns_max: Some(run.max_iterations),
            money_micros_max: settings.budget.per_task.money.map(|money| money.0),
            first_byte: run.first_sign.0.into(),
            idle: run.idle.0.into(),
            total: run.attempt.0.into(),
        },
        scope: fence(settings, spec, &allowed)?,
        gates: Gates {
            pre_commit: checks(Gate::PreCommit, pre_commit)?,
            pre_push: checks(Gate::PrePush, &validate.pre_push)?,
            pre_pr: checks(Gate::PrePr, &validate.pre_pr)?,
            baseline: match run.baseline {
                Baseline::Green => BaselineMode::Green,
                Baseline::Compare => BaselineMode::Compare,
            },
        },
        brief: brief(settings, spec, &allowed, agents.root, &worker),
        worker,
        model,
    })
}

fn fence(settings: &Settings, spec: &TaskSpec, allowed: &[String]) -> Result<Scope, Error> {
    let own = &settings.scope;
    let rules = Rules {
        mode: match own.mode {
            Mode::Strict => scope::Mode::Strict,
            Mode::Ask => scope::Mode::Ask,
            Mode::Open => scope::Mode::Open,
        },
        allowed: allowed.to_vec(),
        forbidden: own.forbidden.iter().chain(&spec.scope.forbidden).cloned().collect(),
        ask_first: own.ask_first.clone(),
    };
    let place = spec.file.as_deref().unwrap_or("scope");
    Scope::new(&rules).map_err(|bad| bad_glob(place, &bad))
}

pub(super) fn bad_glob(place: &str, bad: &BadPattern) -> Error {
    Error::Problems(vec![Problem::at(
        Code::ConfigInvalid,
        place,
        format!("{:?} is no glob: {}", bad.pattern, bad.why),
    )])
}
