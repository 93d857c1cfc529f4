//! Checks that the first programs of checks and setup commands exist.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use unstuck_core::fault::Code;
use unstuck_core::text::brief::plain_line;
use unstuck_world::commands::list_programs;
use unstuck_world::provider;

use super::python::has_module;
use super::{CHECKS, PreflightConcern};
use crate::settings::{FILE, Settings};

/// Folders that setup fills with programs.
const INSTALLED: [&str; 4] = [".venv/", "venv/", "node_modules/", "vendor/"];
/// Characters that make a word more than the plain name of a program.
const EXPANDED: &[char] = &['$', '*', '?', '~', '[', '(', '{', '"', '\''];
/// Shells that run a file.
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];

/// Returns a concern for each program, module or file that these commands lack.
pub(super) async fn inspect_programs(
    root: &Path,
    settings: &Settings,
    checks: &[String],
) -> Vec<PreflightConcern> {
    let setup = &settings.run.setup;
    let mut found: Vec<PreflightConcern> = Vec::new();
    for (line, is_setup) in
        setup.iter().map(|line| (line, true)).chain(checks.iter().map(|line| (line, false)))
    {
        for command in list_programs(line) {
            let Some(missing) = find_missing(root, &command).await else { continue };
            // A line with alternatives may not need any of them, and setup may install what checks need.
            let certain = !is_conditional(line) && (is_setup || setup.is_empty());
            let place =
                if is_setup { "run.setup in unstuck.toml" } else { name_place(settings, line) };
            let concern = missing.to_concern(line, certain, place);
            if !found.contains(&concern) {
                found.push(concern);
            }
        }
    }
    found
}

/// Returns the place of a check: a setting, or else the task that brings it along.
pub(super) fn name_place(settings: &Settings, check: &str) -> &'static str {
    let validate = &settings.validate;
    let of = [
        (&validate.pre_commit, "validate.pre_commit in unstuck.toml"),
        (&validate.pre_push, "validate.pre_push in unstuck.toml"),
        (&validate.pre_pr, "validate.pre_pr in unstuck.toml"),
    ];
    let of = of.into_iter().find(|(checks, _)| checks.iter().any(|line| line == check));
    of.map_or("`validate` in the task", |(_, place)| place)
}

enum MissingDependency {
    /// A program that is not on the path.
    Program(String),
    /// A program that only setup could have installed.
    Installed(String),
    /// A Python module.
    Module { python: String, module: String },
    /// A file that is run.
    File(String),
    /// A file that is run and is not executable.
    NotExecutable(String),
}

impl MissingDependency {
    fn to_concern(&self, line: &str, certain: bool, place: &str) -> PreflightConcern {
        let line = plain_line(line);
        let (says, todo) = match self {
            Self::Program(name) => (
                format!("{} is not on the path, and `{line}` needs it", plain_line(name)),
                format!("install it, or change {place}"),
            ),
            Self::Installed(name) => (
                format!("{} is not there, and `{line}` needs it", plain_line(name)),
                format!("write what installs it below [run] in {FILE}: {}", suggest_setup(name)),
            ),
            Self::Module { python, module } => (
                format!("{} has no module {module}, and `{line}` needs it", plain_line(python)),
                format!("`{python} -m pip install {module}`, or change {place}"),
            ),
            Self::File(name) => (
                format!("there is no {}, and `{line}` runs it", plain_line(name)),
                format!("write it, or change {place}"),
            ),
            Self::NotExecutable(name) => (
                format!("{} is not executable, and `{line}` runs it", plain_line(name)),
                format!(
                    "`git update-index --chmod=+x {}` and a commit, or change {place}",
                    plain_line(name)
                ),
            ),
        };
        // The file may be part of the task.
        if certain && !matches!(self, Self::File(_) | Self::NotExecutable(_)) {
            PreflightConcern::new_stop(CHECKS, Code::ToolMissing, says, todo)
        } else {
            PreflightConcern::new_warning(CHECKS, Code::ToolMissing, says, todo)
        }
    }
}

/// Returns the setting that installs a program.
fn suggest_setup(name: &str) -> &'static str {
    if name.contains("node_modules") {
        "`setup = [\"npm ci\"]`"
    } else if name.contains("vendor") {
        "`setup = [\"composer install --no-interaction\"]`"
    } else {
        "`setup = [\"python3 -m venv .venv && .venv/bin/pip install -e .\"]`"
    }
}

fn is_conditional(line: &str) -> bool {
    line.contains("||")
        || line.contains("command -v")
        || line.contains("which ")
        || line.trim_start().starts_with("if ")
}

async fn find_missing(root: &Path, command: &[String]) -> Option<MissingDependency> {
    let (program, arguments) = command.split_first()?;
    if program.is_empty() || program.contains(EXPANDED) {
        return None;
    }
    let name = program.trim_start_matches("./");
    if program.contains('/') {
        let file = root.join(name);
        if file.exists() {
            let is_runnable = provider::find_program(file.as_os_str(), None).is_some();
            return (!is_runnable).then(|| MissingDependency::NotExecutable(name.to_owned()));
        }
        let installed = INSTALLED.iter().any(|folder| name.starts_with(folder));
        let file = name.to_owned();
        return Some(if installed {
            MissingDependency::Installed(file)
        } else {
            MissingDependency::File(file)
        });
    }
    let path = env::var_os("PATH");
    let Some(found) = provider::find_program(OsStr::new(program), path.as_deref()) else {
        return Some(MissingDependency::Program(program.clone()));
    };
    if program.starts_with("python")
        && let [flag, module, ..] = arguments
        && flag == "-m"
        && !has_module(root, &found, module).await
    {
        return Some(MissingDependency::Module { python: program.clone(), module: module.clone() });
    }
    if SHELLS.contains(&program.as_str())
        && let Some(file) = arguments.first()
        && !file.starts_with('-')
        && !file.contains(EXPANDED)
        && !root.join(file).exists()
    {
        return Some(MissingDependency::File(file.clone()));
    }
    None
}

#[cfg(test)]
mod tests {
    use unstuck_testkit::stage::write_program;

    use super::*;
    use crate::build::preflight::ConcernSeverity;

    fn look(root: &Path, setup: &[&str], checks: &[&str]) -> Vec<(ConcernSeverity, String)> {
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        let mut settings = Settings::default();
        settings.run.setup = lines(setup);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let found = runtime.block_on(inspect_programs(root, &settings, &lines(checks)));
        found.into_iter().map(|concern| (concern.weight, concern.says)).collect()
    }

    #[test]
    fn a_check_is_named_by_the_place_that_has_it() {
        let mut settings = Settings::default();
        settings.validate.pre_push = vec!["make all".to_owned()];
        assert_eq!(name_place(&settings, "make all"), "validate.pre_push in unstuck.toml");
        assert_eq!(name_place(&settings, "make one"), "`validate` in the task");
    }

    #[test]
    fn what_is_missing_stops_and_what_may_come_warns() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join("check.sh"), "").unwrap();
        write_program(&root.join("run.sh"), "");
        for fine in [
            "sh check.sh", "CI=1 sh -c 'cd x && ls'", "true && ! grep -q x y", "$TOOL x",
            "./run.sh", "cat a | sort > b", "",
        ] {
            assert_eq!(look(root, &[], &[fine]), [], "{fine}");
        }
        let table = [
            ("no-such-tool test", ConcernSeverity::Stops),
            ("cd web && no-such-tool", ConcernSeverity::Stops),
            ("sh -c 'no-such-tool'", ConcernSeverity::Stops),
            (".venv/bin/pytest", ConcernSeverity::Stops),
            ("no-such-tool || true", ConcernSeverity::Warns),
            ("sh missing.sh", ConcernSeverity::Warns),
            ("./missing", ConcernSeverity::Warns),
            ("./check.sh", ConcernSeverity::Warns),
        ];
        for (line, weight) in table {
            let found = look(root, &[], &[line]);
            assert_eq!(found.len(), 1, "{line}: {found:?}");
            assert_eq!(found[0].0, weight, "{line}");
        }
        let found = look(root, &["true"], &["no-such-tool test"]);
        assert_eq!(found[0].0, ConcernSeverity::Warns, "setup may install it");
        let found = look(root, &["no-such-tool ci"], &[]);
        assert_eq!(found[0].0, ConcernSeverity::Stops, "setup itself cannot run");
    }
}
