//! Options of `run` that are settings. They are stored with the tasks of the build, so that a process that
//! continues the build after a kill or an answer applies them too.

use std::collections::BTreeMap;
use std::path::Path;

use super::resolve::{ResolvedSettings, SettingFlags};
use crate::error::CliError;

/// Values by the path of the setting, with `config` for the path of another settings file.
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
    ("run.in_place", "--in-place"),
];

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

#[cfg(test)]
mod tests {
    use super::*;

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
