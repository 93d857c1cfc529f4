//! Completes a task from the settings, and creates the parts that perform it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::fault::{CheckStage, Code};
use unstuck_core::plan::{MutationKind, MutationSpec, TaskSpec};
use unstuck_core::policy::Overrides;
use unstuck_runner::build::{TaskGates, TaskSettings, TaskWorker};
use unstuck_world::agent::AttemptLimits;
use unstuck_world::provider::prices::Prices;
use unstuck_world::scope::{
    self, BadPattern, PathScope, ScopeRules, place_patterns, resolve_in_folder,
};
use unstuck_world::validate::{
    BaselineMode, GateChecks, MissingDefinitions, find_defining_files, list_test_patterns,
};

use super::deciding_paths::find_repository_deciding_paths;
use super::provider::WorkerFactory;
use crate::error::CliError;
use crate::problem::InputProblem;
use crate::settings::{BaselineSetting, FILE, MAX_COST, ScopeModeSetting, Settings};

/// Instructions of a project for agents. Agent programs read these files themselves, so only models are
/// given them.
const HOUSE_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Maximum number of bytes of such a file in the prompt.
const HOUSE_BYTES_MAX: usize = 32 * 1024;

/// Returns the task for the engine, with its account and the actions after its checks.
pub(crate) fn complete_task(
    agents: &WorkerFactory<'_>,
    spec: TaskSpec,
) -> Result<TaskSpec, CliError> {
    let provider = agents.provider_for(&spec)?;
    let run = &agents.settings.run;
    let mut mutations = vec![git_mutation("merge", MutationKind::Merge)];
    if run.push {
        mutations.push(git_mutation("push", MutationKind::Push));
    }
    mutations.extend(spec.mutations);
    let scope = unstuck_core::plan::ScopeSpec {
        allowed: allowed_paths(agents.settings, &spec.scope.allowed),
        ..spec.scope
    };
    // The budget applies to this build and to its continuations.
    let build_budget =
        spec.options.contains_key(MAX_COST).then_some(agents.policy.budget.per_build);
    let overrides = Overrides { build_budget, ..spec.overrides };
    Ok(TaskSpec {
        overrides,
        provider: Some(provider.name().to_owned()),
        gate: agents.account_gate(provider),
        scope,
        mutations,
        ..spec
    })
}

/// Returns the paths that a task may change: its own, or those of the settings.
fn allowed_paths(settings: &Settings, own: &[String]) -> Vec<String> {
    if own.is_empty() { settings.scope.allowed.clone() } else { own.to_vec() }
}

fn git_mutation(key: &str, kind: MutationKind) -> Arc<MutationSpec> {
    Arc::new(MutationSpec {
        key: key.to_owned(),
        kind,
        idempotent: true,
        probe: true,
        ..MutationSpec::default()
    })
}

pub(crate) fn task_settings(
    agents: &WorkerFactory<'_>,
    spec: &TaskSpec,
) -> Result<TaskSettings, CliError> {
    let settings = agents.settings;
    let allowed = allowed_paths(settings, &spec.scope.allowed);
    let worker = agents.create_worker(spec)?;
    let model = agents.model_for(spec);
    let run = &settings.run;
    let validate = &settings.validate;
    let pre_commit = spec.validate.as_ref().unwrap_or(&validate.pre_commit);
    // The checks restore the settings file if there are checks and a file.
    let is_put_back = !pre_commit.is_empty() && agents.root.join(FILE).is_file();
    let checks = |gate, commands: &[String]| {
        let tests = list_test_patterns(agents.root, commands);
        let protect = place_patterns(agents.folder, &[&*validate.protect, &tests].concat());
        let checks = GateChecks::new(gate, commands, &protect)
            .map_err(|bad| bad_glob_error("validate.protect", &bad))?;
        let mut defining = find_defining_files(agents.root, commands);
        defining.push(FILE.into());
        let replacing = MissingDefinitions::find(agents.root, commands).replacing;
        let placed = |files: Vec<PathBuf>| {
            files.iter().filter_map(|file| resolve_in_folder(agents.folder, file)).collect()
        };
        Ok::<_, CliError>(checks.with_definitions(placed(defining), placed(replacing)))
    };
    Ok(TaskSettings {
        egress: agents.agent_egress(agents.provider_for(spec)?),
        service_host: agents.service_host(agents.provider_for(spec)?).map(|(host, _)| host),
        price: model.as_deref().and_then(|model| Prices::default().find_price(model)),
        limits: AttemptLimits {
            turns_max: Some(run.max_iterations),
            money_micros_max: None,
            first_byte: run.first_sign.0.into(),
            idle: run.idle.0.into(),
            total: run.attempt.0.into(),
        },
        scope: task_scope(agents, spec, &allowed, is_put_back)?,
        gates: TaskGates {
            pre_commit: checks(CheckStage::PreCommit, pre_commit)?,
            pre_push: checks(CheckStage::PrePush, &validate.pre_push)?,
            pre_pr: checks(CheckStage::PrePr, &validate.pre_pr)?,
            baseline: match run.baseline {
                BaselineSetting::Green => BaselineMode::Green,
                BaselineSetting::Compare => BaselineMode::Compare,
            },
        },
        brief: compose_brief(agents, spec, &allowed, &worker),
        worker,
        model,
    })
}

fn task_scope(
    agents: &WorkerFactory<'_>,
    spec: &TaskSpec,
    allowed: &[String],
    is_put_back: bool,
) -> Result<PathScope, CliError> {
    let own = &agents.settings.scope;
    let validate = &agents.settings.validate;
    let deciding = find_repository_deciding_paths(agents.checkout, agents.folder);
    let own_settings = place_patterns(agents.folder, &[FILE.to_owned()]);
    let asked_about =
        deciding.globs.into_iter().filter(|path| !(is_put_back && own_settings.contains(path)));
    let pre_commit = spec.validate.as_ref().unwrap_or(&validate.pre_commit);
    let checks = [pre_commit, &validate.pre_push, &validate.pre_pr].map(Vec::as_slice).concat();
    // A new file that changes how a check runs could make it green.
    let missing = MissingDefinitions::find(agents.root, &checks).additional.into_iter();
    let missing = missing.filter_map(|file| file.into_os_string().into_string().ok());
    let missing = place_patterns(agents.folder, &missing.collect::<Vec<_>>());
    let rules = ScopeRules {
        folder: agents.folder.to_owned(),
        mode: match own.mode {
            ScopeModeSetting::Strict => scope::ScopeMode::Strict,
            ScopeModeSetting::Ask => scope::ScopeMode::Ask,
            ScopeModeSetting::Open => scope::ScopeMode::Open,
        },
        allowed: allowed.to_vec(),
        forbidden: own.forbidden.iter().chain(&spec.scope.forbidden).cloned().collect(),
        ask_first: own.ask_first.clone(),
        ask_unless_named: asked_about.chain(missing.iter().cloned()).collect(),
        ask_names: deciding.names,
        tell_first: missing,
    };
    let place = spec.file.as_deref().unwrap_or("scope");
    PathScope::new(&rules).map_err(|bad| bad_glob_error(place, &bad))
}

/// Returns the part of the prompt beside the goal: the scope, the checks and the operator's own instructions.
fn compose_brief(
    agents: &WorkerFactory<'_>,
    spec: &TaskSpec,
    allowed: &[String],
    worker: &TaskWorker,
) -> String {
    let WorkerFactory { settings, root, folder, .. } = agents;
    let mut parts = Vec::new();
    if !folder.as_os_str().is_empty() {
        parts.push(format!(
            "The project is the folder `{}` of its repository. You start there, the checks run there, \
             and the paths below are relative to it.",
            folder.display()
        ));
    }
    if !spec.brief.trim().is_empty() && spec.brief.trim() != spec.goal.trim() {
        parts.push(spec.brief.trim().to_owned());
    }
    let forbidden: Vec<String> =
        settings.scope.forbidden.iter().chain(&spec.scope.forbidden).cloned().collect();
    parts.extend(render_list("You may change only these paths", allowed));
    parts.extend(render_list("You must not change these paths", &forbidden));
    let checks = spec.validate.as_ref().unwrap_or(&settings.validate.pre_commit);
    parts.extend(render_list("These checks are run by us when you are done", checks));
    if let TaskWorker::Model(_) = worker {
        parts.extend(HOUSE_FILES.iter().find_map(|name| read_house_file(root, name)));
    }
    parts.join("\n\n")
}

fn render_list(title: &str, items: &[String]) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let mut text = format!("{title}:");
    for item in items {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- `{item}`");
    }
    Some(text)
}

fn read_house_file(root: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(name)).ok()?;
    let mut end = text.len().min(HOUSE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(format!("What {name} of this project says:\n\n{}", text[..end].trim_end()))
}

pub(super) fn bad_glob_error(place: &str, bad: &BadPattern) -> CliError {
    CliError::Problems(vec![InputProblem::at_place(
        Code::ConfigInvalid,
        place,
        format!("{:?} is no glob: {}", bad.pattern, bad.why),
    )])
}
