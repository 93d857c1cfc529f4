//! Finds the files that define a check: those that its command runs, those that its runner reads by
//! itself, and the scripts of a manifest.
//!
//! A check that an agent can rewrite proves nothing. A file that is run counts only if its name
//! states its purpose (`scripts/check.sh`, a Makefile for `make test`): in
//! `sh shop.sh | grep hello` the script is the work. Scripts and recipes are followed to the files
//! that they run in turn.

mod referenced;
mod tables;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::commands::{base_name, list_programs};
use referenced::{Makefile, find_loaded_by_command, find_loaded_by_settings, is_runner_settings};
use tables::{
    CHECKING, CHECKING_WHOLE, FILES, FOLLOWED_BYTES_MAX, FOLLOWED_MAX, GO_FOLDERS_MAX,
    INTERPRETERS, MANAGERS, RECIPES, RUNNERS, STANDARD_MODULES, TOOL_FOLDERS,
};

/// Returns the files of the project at `root` that these commands run or are configured by.
pub fn find_defining_files(root: &Path, commands: &[String]) -> Vec<PathBuf> {
    follow_commands(root, commands).0.into_iter().collect()
}

/// Returns the command lines that these commands run in the project at `root`: their own, and those of the
/// recipes, package scripts and shell scripts that they start.
pub fn list_command_lines(root: &Path, commands: &[String]) -> Vec<String> {
    follow_commands(root, commands).1
}

/// A line of shell, and its location.
struct ShellLine {
    text: String,
    /// The folder of the file that contains it.
    folder: PathBuf,
    /// `true` if a file that a check runs contains it, `false` if the settings do.
    is_inside: bool,
}

impl ShellLine {
    fn from_settings(text: &str) -> Self {
        Self { text: text.to_owned(), folder: PathBuf::new(), is_inside: false }
    }

    fn from_file(text: String, file: &Path) -> Self {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        Self { text, folder, is_inside: true }
    }
}

/// Returns the files that a script runs in its own folder: `"$(dirname "$0")/lint.py"`,
/// `"${0%/*}/lint.py"`.
fn find_files_beside(folder: &Path, line: &str) -> Vec<PathBuf> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let ends = [")/", ")\"/", "%/*}/", "%/*}\"/"];
    let parts = ends.iter().flat_map(|end| line.split(end).skip(1));
    let names = parts.map(|rest| rest.split(|c| !is_part(c)).next().unwrap_or_default());
    let files =
        names.filter(|name| !name.is_empty() && !name.contains("..")).map(|name| folder.join(name));
    files.filter(|file| checks_something(file) || is_project_tool(file)).collect()
}

/// Returns whether a file is a tool of the project, by its folder.
fn is_project_tool(file: &Path) -> bool {
    let first = file.iter().next().filter(|_| file.iter().count() > 1);
    first.is_some_and(|folder| TOOL_FOLDERS.iter().any(|known| folder == *known))
}

/// Returns the files that commands run or are configured by, and all command lines on the way: the
/// commands themselves, and those of the scripts and recipes that they run.
fn follow_commands(root: &Path, commands: &[String]) -> (BTreeSet<PathBuf>, Vec<String>) {
    let mut found = BTreeSet::new();
    let mut lines = Vec::new();
    let mut commands: Vec<ShellLine> =
        commands.iter().map(|line| ShellLine::from_settings(line)).collect();
    let mut followed = 0;
    while let Some(ShellLine { text: command, folder, is_inside }) = commands.pop() {
        for (manifest, script) in find_scripts_run(std::slice::from_ref(&command)) {
            // A script may run itself.
            followed += 1;
            if followed < FOLLOWED_MAX {
                let path = root.join(manifest);
                let loaded = find_files_loaded_by_manifest(&path).into_iter();
                found.extend(loaded.filter(|file| root.join(file).is_file()));
                let line = read_script(&path, &script);
                commands.extend(line.map(|line| ShellLine::from_file(line, Path::new(manifest))));
            }
        }
        let run = find_files_run(&command, is_inside).into_iter().chain(list_files_read(&command));
        let run =
            run.chain(find_files_beside(&folder, &command)).chain(find_loaded_by_command(&command));
        let run = run.chain(if is_inside { find_files_named(&command) } else { Vec::new() });
        for file in
            run.chain(expand_patterns(root, &command)).chain(find_make_includes(root, &command))
        {
            let path = root.join(&file);
            if path.is_file() && found.insert(file.clone()) && followed < FOLLOWED_MAX {
                followed += 1;
                found.extend(find_loaded_files(root, &file));
                let inside = read_commands(&path).into_iter();
                commands.extend(inside.map(|line| ShellLine::from_file(line, &file)));
            }
        }
        lines.push(command);
    }
    (found, lines)
}

/// Returns the files that a runner loads before the tests because its settings, in this file, say
/// so.
fn find_loaded_files(root: &Path, settings: &Path) -> Vec<PathBuf> {
    let name = settings.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !is_runner_settings(name) {
        return Vec::new();
    }
    let text = fs::read_to_string(root.join(settings)).unwrap_or_default();
    find_loaded_by_settings(&text).into_iter().filter(|file| root.join(file).is_file()).collect()
}

/// Returns the files that the runners' settings in a manifest name to be loaded before the tests.
fn find_files_loaded_by_manifest(manifest: &Path) -> Vec<PathBuf> {
    let manifest = fs::read(manifest).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let manifest: Value = manifest.unwrap_or_default();
    let settings = RUNNERS.iter().map(|runner| manifest[runner].to_string());
    settings.flat_map(|text| find_loaded_by_settings(&text)).collect()
}

/// Returns the files that a Makefile includes, if a command runs `make`.
fn find_make_includes(root: &Path, command: &str) -> Vec<PathBuf> {
    let runs_make = find_file_kinds(command).iter().any(|kind| kind.contains(&"Makefile"));
    let makefile = if runs_make { Makefile::read_from(root) } else { None };
    makefile.map(|makefile| makefile.includes).unwrap_or_default()
}

/// Returns the files that match a pattern in a command (`for check in checks/*.sh`), if their names
/// say that they check something.
fn expand_patterns(root: &Path, command: &str) -> Vec<PathBuf> {
    let words = command.split(|c: char| c.is_whitespace() || ";\"'`()".contains(c));
    let patterns = words.map(|word| word.trim_start_matches("./")).filter(|word| {
        word.contains('/') && word.contains('*') && !word.starts_with('/') && !word.contains('$')
    });
    let mut found = Vec::new();
    for pattern in patterns {
        let Some((folder, name)) = pattern.rsplit_once('/') else { continue };
        let Some((begins, ends)) = name.split_once('*') else { continue };
        if folder.contains('*') || ends.contains('*') {
            continue;
        }
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let fits = |name: &String| {
            !name.starts_with('.')
                && name.len() >= begins.len() + ends.len()
                && name.starts_with(begins)
                && name.ends_with(ends)
        };
        let files = names.filter(fits).map(|name| Path::new(folder).join(name));
        found.extend(files.filter(|file| checks_something(file)));
    }
    found.sort();
    found
}

/// Files that a project does not have and that programs of its checks look for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingDefinitions {
    /// Files that would be used instead of existing ones: a `GNUmakefile` beside a `Makefile`, a
    /// file or folder with the name of a target.
    pub replacing: Vec<PathBuf>,
    /// Files that would be read as well: a `conftest.py`.
    pub additional: Vec<PathBuf>,
}

impl MissingDefinitions {
    /// Finds the missing files for commands that run in the project at `root`, and for the scripts
    /// that those run in turn.
    pub fn find(root: &Path, commands: &[String]) -> Self {
        let mut found = Self::default();
        let (_, lines) = follow_commands(root, commands);
        let kinds: BTreeSet<_> = lines.iter().flat_map(|line| find_file_kinds(line)).collect();
        for kind in kinds {
            let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) =
                kind.iter().map(PathBuf::from).partition(|file| root.join(file).is_file());
            if there.iter().any(|file| RECIPES.iter().any(|name| Path::new(name) == file)) {
                found.replacing.extend(missing);
            } else {
                found.additional.extend(missing);
            }
        }
        let runs_go = |line: &String| {
            list_programs(line).iter().any(|words| words.first().is_some_and(|word| word == "go"))
        };
        if lines.iter().any(runs_go) {
            found.additional.extend(find_missing_go_modules(root));
        }
        if let Some(makefile) = Makefile::read_from(root) {
            let is_missing = |file: &PathBuf| !root.join(file).exists();
            let standing = makefile.find_shadowing_files(&lines);
            found.replacing.extend(standing.into_iter().filter(is_missing));
            let runs_make = lines.iter().any(|line| !find_make_includes(root, line).is_empty());
            let included = if runs_make { makefile.includes } else { Vec::new() };
            found.additional.extend(included.into_iter().filter(is_missing));
        }
        found
    }
}

/// Returns `go.mod` files that would exclude folders with Go code from `./...`.
fn find_missing_go_modules(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        if found.len() >= GO_FOLDERS_MAX {
            break;
        }
        let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
        let mut has_code = false;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !name.starts_with(['.', '_']) && name != "vendor" {
                open.push(folder.join(&*name));
            }
            has_code |= name.ends_with(".go");
        }
        let module = folder.join("go.mod");
        if has_code && folder != Path::new("") && !root.join(&module).exists() {
            found.push(module);
        }
    }
    found
}

/// Returns the files that the programs of a command read by themselves.
fn list_files_read(command: &str) -> impl Iterator<Item = PathBuf> {
    // An existing module is work, even under the name of a standard module.
    let kinds = find_file_kinds(command).into_iter().filter(|kind| *kind != STANDARD_MODULES);
    kinds.flatten().map(PathBuf::from)
}

/// Returns the rows of [`FILES`] that the programs of a command read.
fn find_file_kinds(command: &str) -> Vec<&'static [&'static str]> {
    let mut found = Vec::new();
    for words in list_programs(command) {
        let Some((program, arguments)) = words.split_first() else { continue };
        let name = base_name(program);
        let module = find_module(name, arguments);
        let reads = |programs: &[&str]| {
            programs.contains(&name) || module.is_some_and(|module| programs.contains(&module))
        };
        found.extend(FILES.iter().filter(|(programs, _)| reads(programs)).map(|(_, files)| *files));
    }
    found
}

/// Returns the files that a command runs and whose names say that they check something; in a file
/// that a check runs, the project's tools as well.
fn find_files_run(command: &str, is_inside: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for words in list_programs(command) {
        let Some((program, arguments)) = words.split_first() else { continue };
        // A variable usually stands for an interpreter.
        let interprets = INTERPRETERS.contains(&base_name(program)) || program.starts_with('$');
        let run = if interprets {
            arguments.iter().find(|word| !word.starts_with('-'))
        } else {
            Some(program).filter(|program| program.contains('/'))
        };
        let file = run.map(|file| PathBuf::from(file.trim_start_matches("./")));
        let counts = |file: &PathBuf| checks_something(file) || is_inside && is_project_tool(file);
        found.extend(file.filter(|file| file.is_relative() && counts(file)));
    }
    found
}

/// Returns the files that a line of a check names and whose own names say that they check something:
/// `cat tests.list`, `done < tests.list`.
fn find_files_named(line: &str) -> Vec<PathBuf> {
    let words = line.split(|c: char| c.is_whitespace() || ";\"'`()<>|&=".contains(c));
    let words = words.map(|word| word.trim_start_matches("./"));
    let files = words.filter(|word| !word.is_empty() && !word.contains(['$', '*', '~']));
    files
        .map(PathBuf::from)
        .filter(|file| file.is_relative() && !file.starts_with("..") && checks_something(file))
        .collect()
}

/// Returns the lines of a file that are commands: all of a shell script, the indented ones of a
/// recipe file and those that ask the shell.
fn read_commands(path: &Path) -> Vec<String> {
    if fs::metadata(path).is_ok_and(|file| file.len() > FOLLOWED_BYTES_MAX) {
        return Vec::new();
    }
    let Ok(text) = fs::read_to_string(path) else { return Vec::new() };
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_shell = matches!(path.extension().and_then(|end| end.to_str()), Some("sh" | "bash"))
        || text.lines().next().is_some_and(|first| first.starts_with("#!") && first.contains("sh"));
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    if RECIPES.contains(&name) {
        let runs = |line: &&str| line.starts_with(['\t', ' ']) || line.contains("$(shell ");
        let below = lines.filter(runs);
        below.map(|line| line.trim_start().trim_start_matches(['@', '-', '+']).to_owned()).collect()
    } else if is_shell {
        lines.map(str::to_owned).collect()
    } else {
        Vec::new()
    }
}

/// Returns the command of a script in a manifest.
fn read_script(manifest: &Path, script: &str) -> Option<String> {
    let manifest: Value = serde_json::from_slice(&fs::read(manifest).ok()?).ok()?;
    Some(manifest["scripts"][script].as_str()?.to_owned())
}

/// Returns the module that `python -m` runs, the program that `bundle exec` and the like run, or
/// the subcommand of cargo.
fn find_module<'w>(name: &str, arguments: &'w [String]) -> Option<&'w str> {
    let first = arguments.first()?.as_str();
    let rest = arguments.get(1..).unwrap_or_default();
    match (name, first) {
        ("python" | "python3", "-m")
        | ("bundle", "exec")
        | ("uv" | "poetry" | "pdm" | "pipenv" | "hatch", "run") => {
            let module = rest.iter().find(|word| !word.starts_with('-'))?;
            if base_name(module).starts_with("python") {
                return find_module("python", rest.get(1..).unwrap_or_default());
            }
            Some(module)
        }
        ("npx" | "cargo", first) => Some(first),
        _ => None,
    }
}

/// Returns whether the name of a file or of one of its folders says that it checks something.
pub(super) fn checks_something(file: &Path) -> bool {
    file.iter().any(|part| {
        let part = part.to_string_lossy().to_lowercase();
        let stem = part.split('.').next().unwrap_or_default();
        CHECKING.iter().any(|known| part.contains(known)) || CHECKING_WHOLE.contains(&stem)
    })
}

/// Returns the manifests whose scripts these commands run, with the names of the scripts.
pub(super) fn find_scripts_run(commands: &[String]) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for words in commands.iter().flat_map(|command| list_programs(command)) {
        let Some((program, arguments)) = words.split_first() else { continue };
        let manager = MANAGERS.iter().find(|(name, _)| *name == base_name(program));
        let Some((_, manifest)) = manager else { continue };
        let mut plain = arguments.iter().filter(|word| !word.starts_with('-'));
        let first = plain.next().map(String::as_str);
        let script = match first {
            Some("run" | "run-script") => plain.next().map(String::as_str),
            Some("t" | "tst") => Some("test"),
            first => first,
        };
        found.extend(script.map(|script| (*manifest, script.to_owned())));
    }
    found
}

/// Returns whether a manifest defines a script, or one that it runs in turn, differently from its
/// base.
pub(super) fn scripts_differ(script: &str, base: &[u8], now: &[u8]) -> bool {
    let read = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap_or_default() };
    let base = read(base);
    let now = read(now);
    if RUNNERS.iter().any(|runner| base[runner] != now[runner]) {
        return true;
    }
    let mut wanted = vec![script.to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        for name in [format!("pre{name}"), name.clone(), format!("post{name}")] {
            let was = &base["scripts"][&name];
            if *was != now["scripts"][&name] {
                return true;
            }
            if let Value::String(line) = was {
                wanted.extend(
                    find_scripts_run(std::slice::from_ref(line)).into_iter().map(|(_, s)| s),
                );
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_in(folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_file_that_is_run_counts_where_its_name_says_that_it_checks() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            ["Makefile", "scripts/check.sh", "shop.sh", "run-tests", "pytest.ini", "page.txt"];
        fs::create_dir(folder.path().join("scripts")).unwrap();
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let cases: [(&str, &[&str]); 9] = [
            ("make test", &["Makefile"]),
            ("CI=1 make -j4 check", &["Makefile"]),
            ("sh scripts/check.sh", &["scripts/check.sh"]),
            ("bash -c './run-tests && make lint'", &["Makefile", "run-tests"]),
            ("sh shop.sh | grep hello", &[]),
            ("grep -q hello page.txt", &[]),
            ("python3 -m pytest -q", &["pytest.ini"]),
            ("uv run python -m pytest", &["pytest.ini"]),
            ("just test", &[]),
        ];
        for (command, expected) in cases {
            let found = find_defining_files(folder.path(), &[command.to_owned()]);
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{command}");
        }
    }

    #[test]
    fn what_a_recipe_or_a_script_runs_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| write_in(folder.path(), file, text);
        write(
            "Makefile",
            "test: shop.sh\n\t@sh ci/test.sh\n\t$(PYTHON) check_it.py\n# sh lint.sh\n",
        );
        write("ci/test.sh", "set -e\n./ci/verify shop.sh\nmake test\n");
        write("ci/verify", "#!/bin/sh\nsh shop.sh | grep hello\n");
        write(
            "package.json",
            r#"{"scripts": {"test": "npm run unit", "unit": "node run-spec.js"}}"#,
        );
        for file in ["check_it.py", "shop.sh", "lint.sh", "run-spec.js"] {
            write(file, "");
        }
        let found = |command: &str| find_defining_files(folder.path(), &[command.to_owned()]);
        let paths = |files: &[&str]| files.iter().map(PathBuf::from).collect::<Vec<_>>();
        let all = paths(&["Makefile", "check_it.py", "ci/test.sh", "ci/verify"]);
        assert_eq!(found("make test"), all);
        assert_eq!(found("npm test"), paths(&["run-spec.js"]));
    }

    #[test]
    fn a_list_of_tests_and_a_sourced_library_of_assertions_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let recipe =
            "TESTS := $(shell cat tests.list)\ntest:\n\tsh test.sh\n\tsh run.sh $(TESTS)\n";
        write_in(root, "Makefile", recipe);
        write_in(root, "tests.list", "t/one.sh\n");
        write_in(root, "test.sh", ". lib/assert.sh\n. lib/price.sh\n");
        write_in(root, "lib/assert.sh", "equal() { [ \"$1\" = \"$2\" ]; }\n");
        write_in(root, "lib/price.sh", "price() { echo 1; }\n");
        let found = find_defining_files(root, &["make test".to_owned()]);
        let expected = ["Makefile", "lib/assert.sh", "test.sh", "tests.list"];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn what_a_runner_loads_before_the_tests_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| write_in(folder.path(), file, text);
        write(
            "package.json",
            r#"{"scripts": {"test": "node -r ./setup.js --test"}, "jest": {"setupFiles": ["./env.js"]}}"#,
        );
        write("vitest.config.ts", "export default { test: { globalSetup: './global.ts' } }\n");
        for file in ["setup.js", "env.js", "global.ts", "sums.js"] {
            write(file, "");
        }
        let found = find_defining_files(folder.path(), &["npm test".to_owned()]);
        let expected = ["env.js", "global.ts", "setup.js", "vitest.config.ts"];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn what_a_pattern_stands_for_and_what_make_includes_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| write_in(folder.path(), file, text);
        write(
            "Makefile",
            "-include local.mk\ninclude rules.mk\ntest: unit\n\t@sh test.sh\nunit:\n",
        );
        write("rules.mk", "");
        write("test.sh", "for check in checks/*.sh; do sh \"$check\"; done\nls src/*.c\n");
        for file in ["checks/a.sh", "checks/b.sh", "checks/notes.txt", "src/a.c"] {
            write(file, "");
        }
        write("scripts/lint.sh", "python3 \"$(dirname \"$0\")/lint.py\" src\n");
        write("scripts/lint.py", "");
        write("tools/run.js", "");
        write("package.json", r#"{"scripts": {"test": "node tools/run.js"}}"#);
        let found = |command: &str| find_defining_files(folder.path(), &[command.to_owned()]);
        assert_eq!(found("npm test"), [Path::new("tools/run.js")]);
        assert_eq!(found("node tools/run.js"), [] as [&Path; 0], "it may be the work");
        let both = [Path::new("scripts/lint.py"), Path::new("scripts/lint.sh")];
        assert_eq!(found("sh scripts/lint.sh"), both);
        let commands = ["make test".to_owned()];
        let paths = |files: &[&str]| files.iter().map(PathBuf::from).collect::<Vec<_>>();
        let all = ["Makefile", "checks/a.sh", "checks/b.sh", "rules.mk", "test.sh"];
        assert_eq!(find_defining_files(folder.path(), &commands), paths(&all));
        let missing = MissingDefinitions::find(folder.path(), &commands);
        assert_eq!(missing.additional, paths(&["local.mk"]));
        assert_eq!(missing.replacing, paths(&["GNUmakefile", "makefile", "test", "unit"]));
    }

    #[test]
    fn a_file_that_a_runner_would_read_by_itself_is_known_before_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Makefile"), "").unwrap();
        let missing = |line: &str| MissingDefinitions::find(folder.path(), &[line.to_owned()]);
        let make = missing("make test");
        assert_eq!(make.replacing, [Path::new("GNUmakefile"), Path::new("makefile")]);
        assert!(make.additional.is_empty());
        let pytest = missing("python3 -m pytest -q");
        for file in ["conftest.py", "pytest.ini", "sitecustomize.py"] {
            assert!(pytest.additional.contains(&PathBuf::from(file)), "{file}");
        }
        assert_eq!(missing("sh shop.sh | grep hello"), MissingDefinitions::default());
        let recipe = "test:\n\t@python3 -m unittest -q\n";
        fs::write(folder.path().join("Makefile"), recipe).unwrap();
        fs::create_dir(folder.path().join("sum")).unwrap();
        fs::write(folder.path().join("sum/sum.go"), "package sum\n").unwrap();
        assert_eq!(missing("go test ./...").additional, [Path::new("sum/go.mod")]);
        let shadowing = PathBuf::from("unittest.py");
        assert!(missing("make test").additional.contains(&shadowing), "what a recipe runs counts");
    }

    #[test]
    fn a_script_that_is_run_may_not_change_and_others_may() {
        let base = br#"{"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc"}}"#;
        let table = [
            (&br#"{"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc -b"},"dependencies":{"a":"1"}}"#[..], false),
            (br#"{"scripts":{"test":"true","unit":"vitest run","build":"tsc"}}"#, true),
            (br#"{"scripts":{"test":"npm run unit","unit":"true","build":"tsc"}}"#, true),
            (br#"{"jest":{"testMatch":[]},"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc"}}"#, true),
            (br#"{"scripts":{"pretest":"exit 0","test":"npm run unit","unit":"vitest run"}}"#, true),
            (b"{", true),
        ];
        for (now, differ) in table {
            assert_eq!(scripts_differ("test", base, now), differ, "{}", now.escape_ascii());
        }
        let run = |line: &str| find_scripts_run(&[line.to_owned()]);
        let test = vec![("package.json", "test".to_owned())];
        for line in ["npm test", "npm run test", "CI=1 pnpm -s test", "yarn test --ci", "npm t"] {
            assert_eq!(run(line), test, "{line}");
        }
    }
}
