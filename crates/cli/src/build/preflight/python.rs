//! Python: modules that checks need, and packages that were installed from the operator's checkout.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;
use unstuck_core::fault::Code;
use unstuck_core::text::brief::plain_line;
use unstuck_world::commands::list_programs;
use unstuck_world::provider;
use unstuck_world::validate::list_command_lines;

use super::{OWN_CODE, PreflightConcern};
use crate::settings::FILE;

/// Maximum time for an answer of an interpreter.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Maximum size of a file that is read.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
const SEARCHED: &str = "import sys\nprint('\\n'.join(sys.path))";
/// Files that make a folder a Python project.
const PROJECT_FILES: [&str; 4] = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];
/// Setup commands that create an environment in the worktree.
const OWN_ENVIRONMENT: [&str; 8] = [
    "venv", "virtualenv", "uv sync", "uv pip", "poetry install", "pdm sync", "pipenv",
    "pip install",
];

/// Returns whether an interpreter finds a module; `true` if the interpreter does not answer.
pub(super) async fn has_module(root: &Path, python: &Path, module: &str) -> bool {
    let look = "import importlib.util, sys\n\
                sys.exit(0 if importlib.util.find_spec(sys.argv[1]) else 3)";
    let mut command = Command::new(python);
    command.args(["-c", look, module]).current_dir(root).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    match timeout(ANSWER_MAX, command.status()).await {
        Ok(Ok(status)) => status.code() != Some(3),
        _ => true,
    }
}

/// Returns a concern for each package that the interpreters of these checks would import from the checkout.
/// The files of `pip install -e` are redirected to the worktree; a loader with code of its own cannot be.
pub(super) async fn inspect_python(
    root: &Path,
    setup: &[String],
    checks: &[String],
) -> Vec<PreflightConcern> {
    let own = |line: &String| OWN_ENVIRONMENT.iter().any(|words| line.contains(words));
    if let Some(line) = setup.iter().find(|line| installs_worktree_elsewhere(line)) {
        let says = format!("`{}` installs the worktree into your own Python", plain_line(line));
        let todo = format!(
            "write `setup = [\"python3 -m venv .venv && .venv/bin/pip install -e .\"]` below [run] in \
             {FILE}"
        );
        return vec![PreflightConcern::new_warning(OWN_CODE, Code::ConfigInvalid, says, todo)];
    }
    if setup.iter().any(own) {
        return Vec::new();
    }
    let mut files = BTreeSet::new();
    for python in find_interpreters(root, checks) {
        files.extend(find_editable_installs(root, &python).await);
    }
    files.iter().map(|file| describe_install(file)).collect()
}

fn describe_install(file: &Path) -> PreflightConcern {
    if is_loader(&file.file_name().unwrap_or_default().to_string_lossy()) {
        return concern_about_loader(file);
    }
    let says = format!(
        "{} leads to this folder; checks in a worktree import the worktree's own code",
        file.display()
    );
    PreflightConcern::new_note(OWN_CODE, says)
}

/// Returns whether a setup command makes the operator's own Python import a worktree from then on.
fn installs_worktree_elsewhere(line: &str) -> bool {
    let editable = line.contains("pip install -e") || line.contains("pip install --editable");
    editable && !line.contains("venv") && !line.contains("uv pip")
}

fn concern_about_loader(file: &Path) -> PreflightConcern {
    let says = format!(
        "{} imports your own checkout, so checks would not test what an agent changed",
        file.display()
    );
    let todo = format!(
        "write `setup = [\"python3 -m venv .venv && .venv/bin/pip install -e .\"]` below [run] in \
         {FILE}, and run the checks with .venv/bin/python"
    );
    PreflightConcern::new_stop(OWN_CODE, Code::PreconditionMissing, says, todo)
}

/// Returns the interpreters that checks start, directly or through a recipe or script. If a Python project names
/// none, it is `python3` of the path.
fn find_interpreters(root: &Path, checks: &[String]) -> Vec<PathBuf> {
    let path = env::var_os("PATH");
    let mut found = Vec::new();
    let lines = list_command_lines(root, checks);
    for command in lines.iter().flat_map(|line| list_programs(line)) {
        let Some(program) = command.first() else { continue };
        // A path is that of the project's own environment (`.venv/bin/python`) or of the system.
        let program = if program.contains('/') {
            Some(root.join(program)).filter(|program| program.is_file())
        } else {
            provider::find_program(OsStr::new(program), path.as_deref())
        };
        let Some(program) = program else { continue };
        let python = if is_interpreter(&program) { Some(program) } else { read_shebang(&program) };
        found.extend(python.filter(|python| is_interpreter(python)));
    }
    if found.is_empty() && PROJECT_FILES.iter().any(|file| root.join(file).is_file()) {
        found.extend(provider::find_program(OsStr::new("python3"), path.as_deref()));
    }
    found.sort();
    found.dedup();
    found
}

/// Returns whether the name is that of an interpreter: `python`, `python3`, `python3.12`.
fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let version = name.strip_prefix("python");
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Returns the interpreter in the first line of a script.
fn read_shebang(script: &Path) -> Option<PathBuf> {
    let text = read_small_file(script)?;
    let line = text.lines().next()?.strip_prefix("#!")?;
    line.split_whitespace().next().map(PathBuf::from)
}

fn read_small_file(path: &Path) -> Option<String> {
    let small = fs::metadata(path).ok().filter(|found| found.len() <= FILE_BYTES_MAX)?;
    small
        .is_file()
        .then(|| fs::read(path).ok())?
        .map(|bytes| String::from_utf8_lossy(&bytes).into())
}

/// Returns whether an interpreter is a file of the project that the operator's own path does not name.
/// Such a file runs in a sandbox only.
fn is_file_of_project(root: &Path, python: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(folder) = python.parent().map(real) else { return false };
    let path = env::var_os("PATH").unwrap_or_default();
    folder.starts_with(real(root)) && !env::split_paths(&path).any(|named| real(&named) == folder)
}

/// Returns the folders of packages in a virtual environment, by its layout.
fn list_environment_packages(python: &Path) -> Vec<PathBuf> {
    let Some(environment) = python.ancestors().nth(2) else { return Vec::new() };
    let versions = fs::read_dir(environment.join("lib")).into_iter().flatten();
    versions.filter_map(|entry| Some(entry.ok()?.path().join("site-packages"))).collect()
}

/// Returns the folders of packages that an interpreter searches.
async fn query_packages(root: &Path, python: &Path) -> Vec<PathBuf> {
    let mut command = Command::new(python);
    command.args(["-c", SEARCHED]).current_dir(root).stdin(Stdio::null()).kill_on_drop(true);
    let Ok(Ok(output)) = timeout(ANSWER_MAX, command.output()).await else { return Vec::new() };
    let searched = String::from_utf8_lossy(&output.stdout);
    searched.lines().filter(|line| line.ends_with("-packages")).map(PathBuf::from).collect()
}

/// Returns the files in the folders of installed packages that refer to the checkout.
async fn find_editable_installs(root: &Path, python: &Path) -> Vec<PathBuf> {
    let folders = if is_file_of_project(root, python) {
        list_environment_packages(python)
    } else {
        query_packages(root, python).await
    };
    let root = root.to_string_lossy();
    let files = folders.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let leads = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let ending = file.extension().unwrap_or_default();
        let may = ending == "pth" || ending == "egg-link" || is_finder(&name) || is_loader(&name);
        may && read_small_file(file).is_some_and(|text| text.contains(&*root))
    };
    files.filter(leads).collect()
}

/// Returns whether the name is that of an editable finder by setuptools.
fn is_finder(name: &str) -> bool {
    name.starts_with("__editable__") && is_python(name)
}

/// Returns whether the name is that of an editable loader by another build tool.
fn is_loader(name: &str) -> bool {
    name.starts_with('_') && name.contains("editable") && is_python(name) && !is_finder(name)
}

fn is_python(name: &str) -> bool {
    Path::new(name).extension() == Some("py".as_ref())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    // B33: the program of a project's environment is not run, and its packages are found
    #[tokio::test]
    async fn an_editable_install_in_an_environment_of_the_project_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let packages = root.join(".venv/lib/python3.11/site-packages");
        fs::create_dir_all(&packages).unwrap();
        fs::create_dir_all(root.join(".venv/bin")).unwrap();
        let python = root.join(".venv/bin/python");
        fs::write(&python, "#!/bin/sh\ntouch ran\n").unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(packages.join("shop.pth"), root.join("src").to_str().unwrap()).unwrap();
        let checks = [".venv/bin/python -m unittest".to_owned()];
        let concerns = inspect_python(root, &[], &checks).await;
        let [concern] = concerns.as_slice() else { panic!("one concern") };
        assert!(concern.says.contains("shop.pth leads to this folder"), "{}", concern.says);
        assert!(!root.join("ran").exists());
    }

    // B33: a recipe or a script may start the interpreter.
    #[test]
    fn the_interpreter_behind_a_recipe_or_a_script_is_found() {
        let Some(python) =
            provider::find_program(OsStr::new("python3"), env::var_os("PATH").as_deref())
        else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let find = |check: &str| find_interpreters(root, &[check.to_owned()]);
        let files = [
            ("Makefile", "test:\n\t@CI=1 python3 -m pytest -q\n"),
            ("test.sh", "set -e\npython3 -m unittest\n"),
            ("package.json", "{\"scripts\": {\"test\": \"python3 -m pytest\"}}"),
            ("test-lint.sh", "grep -q x y\n"),
        ];
        for (file, text) in files {
            fs::write(root.join(file), text).unwrap();
        }
        for check in ["python3 -m pytest", "make test", "bash test.sh", "npm test"] {
            assert_eq!(find(check), std::slice::from_ref(&python), "{check}");
        }
        let own = root.join(".venv/bin/python");
        fs::create_dir_all(root.join(".venv/bin")).unwrap();
        std::os::unix::fs::symlink(&python, &own).unwrap();
        fs::write(root.join(".venv/bin/pytest"), format!("#!{}\n", own.display())).unwrap();
        for check in [".venv/bin/python -m pytest", "cd . && ./.venv/bin/pytest -q"] {
            let found: Vec<PathBuf> =
                find(check).iter().map(|path| path.components().collect()).collect();
            assert_eq!(found, std::slice::from_ref(&own), "{check}");
        }
        fs::write(root.join("python-tests"), "exit 1\n").unwrap();
        assert!(find("./python-tests").is_empty(), "a script");
        assert!(find("sh test-lint.sh").is_empty());
        fs::write(root.join("pyproject.toml"), "").unwrap();
        assert_eq!(find("sh test-lint.sh"), [python], "a Python project");
    }
}
