//! Resolves the settings from their sources. Options win over `UNSTUCK_*` variables, these over the
//! project's file, then the user's file, then the defaults.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::{Table, Value};
use unstuck_core::fault::{Code, Config, Fault, Kind};
use unstuck_core::nearest::find_nearest;
use unstuck_core::policy::Policy;

use super::job::duplicate_name_problem;
use super::job_files::{self, JobFile};
use super::keys::SettingKeys;
use super::layer::{FILE_BYTES_MAX, SettingOrigin, SettingsLayer, read_file};
use super::sections::{BudgetSettings, Settings};
use crate::error::{CliError, internal_fault, near_hint};
use crate::problem::InputProblem;

/// The name of the settings file, in a project and in the user's folder.
pub(crate) const FILE: &str = "unstuck.toml";
/// The setting of work in the operator's own tree.
pub(crate) const IN_PLACE: &str = "run.in_place";
/// The key of the list of jobs.
const JOB: &str = "job";
/// The prefix of the environment variables.
const PREFIX: &str = "UNSTUCK_";

/// Options of `run` that are settings: values by the path of the setting, with `config` for the path of
/// another settings file. They are stored with the tasks of the build, so that a process that continues the
/// build after a kill or an answer applies them too.
pub(crate) type RunOptions = BTreeMap<String, String>;

/// The key for the path of the settings file.
const CONFIG: &str = "config";
/// The setting of `--max-cost`, the maximum cost of a build.
pub(crate) const MAX_COST: &str = "budget.per_build.money";

/// Settings that options can set, each with its option.
const OPTIONS: [(&str, &str); 5] = [
    ("run.jobs", "--jobs"),
    ("agent.provider", "--provider"),
    ("agent.model", "--model"),
    (MAX_COST, "--max-cost"),
    (IN_PLACE, "--in-place"),
];

/// The resolved settings, with the source of each value.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedSettings {
    pub(crate) settings: Settings,
    pub(crate) policy: Policy,
    origins: BTreeMap<String, SettingOrigin>,
    written: BTreeMap<String, String>,
}

/// Options of the command line that are settings: the path, the value and the name of the option.
pub(crate) type SettingFlags = Vec<(&'static str, String, &'static str)>;

/// A setting as `unstuck config` shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShownSetting {
    pub(crate) path: String,
    /// `None` for a setting without a value and without a default.
    pub(crate) value: Option<Value>,
    pub(crate) origin: SettingOrigin,
}

impl ResolvedSettings {
    /// Resolves the settings of the project at `root`.
    pub(crate) fn load(
        root: &Path,
        file: Option<&Path>,
        flags: &SettingFlags,
    ) -> Result<Self, CliError> {
        let mut resolving = SettingsMerge::default();
        if let Some(user) = user_settings_path() {
            resolving.add_file(&user, false)?;
        }
        match file {
            Some(named) => resolving.add_file(named, true)?,
            None => resolving.add_file(&root.join(FILE), false)?,
        }
        resolving.add_job_files(root)?;
        resolving.add_variables();
        for (path, value, flag) in flags {
            resolving.add_value(&SettingOrigin::Flag(flag), path, value);
        }
        let mut resolved = resolving.finish()?;
        let own = SettingOrigin::File(root.join(FILE).display().to_string());
        let of_project = file.is_none() && resolved.origin_of("agent.base_url") == own;
        resolved.settings.agent.address_of_project = of_project;
        Ok(resolved)
    }

    /// Returns all settings in the order of the sections; a value with a variable appears as written, so
    /// that no secret is shown.
    pub(crate) fn list_settings(&self) -> Result<Vec<ShownSetting>, CliError> {
        let table = Table::try_from(&self.settings)
            .map_err(|error| internal_fault("settings", error.to_string()))?;
        let shown = |path: String| {
            let value = self.written.get(&path).map(|text| Value::String(text.clone()));
            let value = value.or_else(|| find_setting(&table, &path).cloned());
            let origin = self.origin_of(&path);
            ShownSetting { path, value, origin }
        };
        let paths = SettingKeys::all().paths().into_iter();
        Ok(paths.flat_map(|path| Self::expand_job_paths(path, &table)).map(shown).collect())
    }

    /// Expands the path of the job list to one path per key of each job, so that each shows its source.
    fn expand_job_paths(path: String, table: &Table) -> Vec<String> {
        let Some(Value::Array(jobs)) = table.get(&path).filter(|_| path == JOB) else {
            return if path == JOB { Vec::new() } else { vec![path] };
        };
        let keys = |job: &Value| {
            let name = job.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let keys = job.as_table().into_iter().flat_map(Table::keys);
            keys.filter(|key| *key != "name").map(|key| format!("{JOB}.{name}.{key}")).collect()
        };
        jobs.iter().flat_map(|job| -> Vec<String> { keys(job) }).collect()
    }

    fn origin_of(&self, path: &str) -> SettingOrigin {
        let job = path.strip_prefix("job.").and_then(|rest| rest.rsplit_once('.'));
        let job = job.map(|(name, _)| format!("{JOB}.{name}"));
        let origin = self.origins.get(job.as_deref().unwrap_or(path));
        origin.cloned().unwrap_or(SettingOrigin::Default)
    }
}

/// Returns the options of a command line in the form that is stored.
pub(crate) fn stored_options(flags: &SettingFlags, config: Option<&Path>) -> RunOptions {
    let mut kept: RunOptions =
        flags.iter().map(|(path, value, _)| ((*path).to_owned(), value.clone())).collect();
    if let Some(file) = config.and_then(|file| std::path::absolute(file).ok()) {
        kept.insert(CONFIG.to_owned(), file.display().to_string());
    }
    kept
}

/// Loads the settings of a project with stored options. A settings file that is named now replaces the
/// stored one.
pub(crate) fn load_with_options(
    root: &Path,
    options: &RunOptions,
    config: Option<&Path>,
) -> Result<ResolvedSettings, CliError> {
    let flag = |(path, option): &(&'static str, &'static str)| {
        options.get(*path).map(|value| (*path, value.clone(), *option))
    };
    let flags: SettingFlags = OPTIONS.iter().filter_map(flag).collect();
    ResolvedSettings::load(root, config.or_else(|| options.get(CONFIG).map(Path::new)), &flags)
}

/// Merges the options of several builds; on a conflict the first build wins. The maximum cost of each build
/// is stored with its tasks.
pub(crate) fn merge_options(builds: impl IntoIterator<Item = RunOptions>) -> RunOptions {
    let mut joined = RunOptions::new();
    for (path, value) in builds.into_iter().flatten() {
        joined.entry(path).or_insert(value);
    }
    joined
}

fn find_setting<'t>(table: &'t Table, path: &str) -> Option<&'t Value> {
    if let Some((name, key)) = path.strip_prefix("job.").and_then(|rest| rest.rsplit_once('.')) {
        let named = |job: &&Value| job.get("name").and_then(Value::as_str) == Some(name);
        return table.get(JOB)?.as_array()?.iter().find(named)?.get(key);
    }
    match path.split_once('.') {
        None => table.get(path),
        Some((name, rest)) => find_setting(table.get(name)?.as_table()?, rest),
    }
}

/// Returns the value of an environment variable, if it is valid Unicode.
pub(crate) fn environment_variable(name: &str) -> Option<String> {
    env::var_os(name)?.into_string().ok()
}

fn user_settings_path() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join("unstuck").join(FILE))
}

/// The state while layers are merged.
#[derive(Default)]
struct SettingsMerge {
    table: Table,
    origins: BTreeMap<String, SettingOrigin>,
    written: BTreeMap<String, String>,
    problems: Vec<InputProblem>,
    /// Jobs from files in `jobs/`.
    jobs: Vec<JobFile>,
}

/// Returns the problem of a variable that begins as the settings of a section do and is none of them.
fn find_mistyped_variable(name: &str, settings: &BTreeMap<String, String>) -> Option<InputProblem> {
    let (section, _) = name.strip_prefix(PREFIX)?.split_once('_')?;
    let section = format!("{PREFIX}{section}_");
    if settings.contains_key(name) || !settings.keys().any(|known| known.starts_with(&section)) {
        return None;
    }
    let problem = InputProblem::at_place(Code::ConfigInvalid, name, "there is no such setting");
    let near = find_nearest(name, settings.keys().map(String::as_str));
    let all = || "`unstuck config` lists all settings".to_owned();
    Some(problem.with_hint(near_hint(&near).unwrap_or_else(all)))
}

impl SettingsMerge {
    fn add_job_files(&mut self, root: &Path) -> Result<(), CliError> {
        let (jobs, problems) = job_files::read_job_files(root, &environment_variable)?;
        self.jobs = jobs;
        self.problems.extend(problems);
        Ok(())
    }

    fn add_file(&mut self, path: &Path, must_exist: bool) -> Result<(), CliError> {
        let place = path.display().to_string();
        let text = match read_file(path, FILE_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let problem =
                    InputProblem::at_place(Code::ConfigMissing, place, "there is no such file");
                self.problems.push(problem.with_hint("`unstuck init` writes one"));
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let problem =
                    InputProblem::at_place(Code::ConfigInvalid, place, "it is not UTF-8 text");
                self.problems.push(problem.with_hint("save it as UTF-8"));
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                let problem = InputProblem::at_place(Code::ConfigInvalid, place, "it is a folder");
                self.problems.push(problem.with_hint("the settings are a file of this name"));
                return Ok(());
            }
            Err(source) => return Err(CliError::Folder { place, source }),
        };
        let (layer, problems) = SettingsLayer::from_file(&place, &text, &environment_variable);
        self.merge_layer(layer, &SettingOrigin::File(place));
        self.problems.extend(problems);
        Ok(())
    }

    fn add_variables(&mut self) {
        // Listing the keys takes longer than a look for candidates: the name of a setting has a section and
        // a key, while the variables that Unstuck sets for its children have one word.
        let is_setting = |name: &str| name.strip_prefix(PREFIX).is_some_and(|of| of.contains('_'));
        if !env::vars_os().any(|(name, _)| is_setting(&name.to_string_lossy())) {
            return;
        }
        let paths = SettingKeys::all().paths().into_iter().filter(|path| path != JOB);
        let named =
            |path: String| (format!("{PREFIX}{}", path.to_uppercase().replace('.', "_")), path);
        let settings: BTreeMap<String, String> = paths.map(named).collect();
        for (name, path) in &settings {
            if let Some(value) = environment_variable(name) {
                self.add_value(&SettingOrigin::Variable(name.clone()), path, &value);
            }
        }
        let variables = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        self.problems.extend(variables.filter_map(|name| find_mistyped_variable(&name, &settings)));
    }

    fn add_value(&mut self, origin: &SettingOrigin, path: &str, text: &str) {
        match SettingsLayer::from_value(origin, path, text) {
            Ok(layer) => self.merge_layer(layer, origin),
            Err(problem) => self.problems.push(*problem),
        }
    }

    fn merge_layer(&mut self, layer: SettingsLayer, origin: &SettingOrigin) {
        merge_tables(&mut self.table, layer.table, "", &mut |path| {
            self.written.remove(path);
            self.origins.insert(path.to_owned(), origin.clone());
        });
        self.written.extend(layer.written);
    }

    fn finish(self) -> Result<ResolvedSettings, CliError> {
        let Self { table, mut origins, mut written, mut problems, jobs } = self;
        let mut settings = Settings::deserialize(table).unwrap_or_else(|error| {
            // Each value was validated alone, so only what those problems left out can be missing.
            if problems.is_empty() {
                let problem =
                    InputProblem::at_place(Code::ConfigInvalid, "settings", error.message());
                problems.push(problem);
            }
            Settings::default()
        });
        let file = origins.get(JOB).cloned().unwrap_or(SettingOrigin::Default);
        for job in &settings.job {
            origins.insert(format!("{JOB}.{}", job.name.as_str()), file.clone());
        }
        for JobFile { job, place, written: as_written } in jobs {
            let name = job.name.as_str().to_owned();
            if settings.job.iter().any(|known| known.name == job.name) {
                let other = origins.get(&format!("{JOB}.{name}")).map(ToString::to_string);
                let (message, hint) = duplicate_name_problem(&name);
                let message = format!("{message}: here and in {}", other.unwrap_or_default());
                let problem = InputProblem::at_place(Code::ConfigInvalid, &place, message);
                problems.push(problem.with_hint(hint).with_field("name"));
                continue;
            }
            let keep = |(key, text): (String, String)| (format!("{JOB}.{name}.{key}"), text);
            written.extend(as_written.into_iter().map(keep));
            origins.insert(format!("{JOB}.{name}"), SettingOrigin::File(place));
            settings.job.push(job);
        }
        for (key, message, hint) in settings.find_zeros() {
            let place =
                origins.get(&key).map_or_else(|| "settings".to_owned(), ToString::to_string);
            let problem =
                InputProblem::at_place(Code::ConfigInvalid, place, format!("{key}: {message}"));
            problems.push(problem.with_field(&key).with_hint(hint));
        }
        match settings.to_policy() {
            Ok(policy) if problems.is_empty() => {
                return Ok(ResolvedSettings { settings, policy, origins, written });
            }
            Ok(_) => {}
            Err(fault) => {
                problems.push(policy_problem(&fault));
            }
        }
        Err(CliError::Problems(problems))
    }
}

impl Settings {
    /// Returns the settings whose zero would begin no work, each with the reason and what to write.
    fn find_zeros(&self) -> Vec<(String, &'static str, &'static str)> {
        let mut found = Vec::new();
        if self.run.jobs == 0 {
            found.push(("run.jobs".to_owned(), "0 would start no task", "write 1 or more"));
        }
        let BudgetSettings { per_task, per_build, per_day } = &self.budget;
        for (name, cap) in [("per_task", per_task), ("per_build", per_build), ("per_day", per_day)]
        {
            for part in cap.find_zeros() {
                let key = format!("budget.{name}.{part}");
                found.push((key, "nothing can be spent like this", "leave it out for no limit"));
            }
        }
        found
    }

    /// Returns the validated policy.
    pub(crate) fn to_policy(&self) -> Result<Policy, Box<Fault>> {
        let Self { run, retry, backoff, wait, budget, .. } = self;
        let mut policy = Policy::default();
        let limits = &mut policy.retry;
        limits.per_signature = retry.per_signature;
        limits.transient = retry.transient;
        limits.transient_for_ms = retry.transient_for.0;
        limits.consecutive = retry.consecutive;
        limits.fresh_start_at = retry.fresh_start_at;
        limits.pause_after_questions = retry.pause_after_questions;
        limits.alert_firings = retry.alert_after.firings;
        limits.alert_after_ms = retry.alert_after.time.0;
        limits.iterations = run.max_iterations;
        limits.tool_calls = run.max_tool_calls;
        policy.backoff.base_ms = backoff.base.0;
        policy.backoff.cap_ms = backoff.cap.0;
        policy.backoff.jitter_percent = backoff.jitter_percent;
        policy.wait.limited_ms = wait.limited.0;
        policy.wait.windows = wait.windows;
        policy.wait.reset_unknown_ms = wait.reset_unknown.0;
        policy.budget.per_task = budget.per_task.to_amount();
        policy.budget.per_build = budget.per_build.to_amount();
        policy.budget.per_day = budget.per_day.to_amount();
        policy.validate().map(|()| policy)
    }
}

/// Converts a fault of the policy check to a problem: settings that do not work together.
fn policy_problem(fault: &Fault) -> InputProblem {
    let problem = InputProblem::at_place(fault.code(), "settings", fault.message.clone());
    match &fault.kind {
        Kind::ConfigInvalid(Config { field: Some(field), .. }) => problem.with_field(field),
        _ => problem,
    }
}

/// Merges one table over another and calls `put` for the path of each value.
fn merge_tables(below: &mut Table, above: Table, before: &str, put: &mut dyn FnMut(&str)) {
    for (name, value) in above {
        let path = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
        match value {
            Value::Table(above) => {
                let under = below.entry(name).or_insert_with(|| Value::Table(Table::new()));
                if let Value::Table(below) = under {
                    merge_tables(below, above, &path, put);
                }
            }
            value => {
                below.insert(name, value);
                put(&path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_settings_are_the_defaults_of_the_engine() {
        assert_eq!(Settings::default().to_policy(), Ok(Policy::default()));
    }

    #[test]
    fn limits_that_contradict_each_other_are_refused() {
        let mut settings = Settings::default();
        settings.retry.pause_after_questions = 0;
        assert_eq!(settings.to_policy().unwrap_err().code(), Code::ConfigInvalid);
    }

    #[test]
    fn what_was_said_for_a_build_is_said_again_and_the_first_one_counts() {
        let flags: SettingFlags = vec![
            (MAX_COST, "3".to_owned(), "--max-cost"),
            ("run.in_place", "true".to_owned(), "--in-place"),
        ];
        let first = stored_options(&flags, Some(Path::new("/etc/strict.toml")));
        assert_eq!(first[CONFIG], "/etc/strict.toml");
        let second = RunOptions::from([(MAX_COST.to_owned(), "2.50".to_owned())]);
        let third = RunOptions::from([(MAX_COST.to_owned(), "10".to_owned())]);
        let joined = merge_options([first, second, third]);
        assert_eq!((joined[MAX_COST].as_str(), joined["run.in_place"].as_str()), ("3", "true"));

        let root = tempfile::tempdir().unwrap();
        let settings =
            load_with_options(root.path(), &RunOptions::default(), None).unwrap().settings;
        assert!(!settings.run.in_place);
        let options = RunOptions::from([
            ("run.in_place".to_owned(), "true".to_owned()),
            ("agent.model".to_owned(), "m".to_owned()),
        ]);
        let settings = load_with_options(root.path(), &options, None).unwrap().settings;
        assert_eq!((settings.run.in_place, settings.agent.model.as_deref()), (true, Some("m")));
        let gone = RunOptions::from([(CONFIG.to_owned(), "/gone/strict.toml".to_owned())]);
        let error = load_with_options(root.path(), &gone, None).unwrap_err();
        assert!(error.to_string().contains("strict.toml"), "{error}");
    }
}
