//! What defines a check: the files that its command runs, those that its runner reads by itself, and
//! the scripts of a manifest.
//!
//! A check that an agent can rewrite proves nothing. A file that is run counts only where its name says
//! what it is for (`scripts/check.sh`, a Makefile for `make test`): in `sh shop.sh | grep hello` the
//! script is the work. Scripts and recipes are followed to the files that they run in turn.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::commands::programs_of;

/// Programs, and the files of a project that say what they do. The program reads them by itself, so
/// one that is new counts as well.
const FILES: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["rake"], &["Rakefile"]),
    (&["tox"], &["tox.ini"]),
    (&["nox"], &["noxfile.py"]),
    (
        &["pytest", "py.test"],
        &["pytest.ini", ".pytest.ini", "tox.ini", "conftest.py", "**/conftest.py"],
    ),
    (
        &["python", "python3", "pytest", "py.test", "tox", "nox"],
        &[
            "sitecustomize.py",
            "sitecustomize/**",
            "usercustomize.py",
            "usercustomize/**",
            "unittest.py",
            "unittest/**",
            "pytest.py",
            "pytest/**",
        ],
    ),
    (&["npm", "pnpm", "yarn", "bun", "npx"], &[".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml"]),
    (
        &["jest", "npm", "pnpm", "yarn", "bun", "npx"],
        &["jest.config.js", "jest.config.ts", "jest.config.mjs", "jest.config.cjs"],
    ),
    (
        &["vitest", "npm", "pnpm", "yarn", "bun", "npx"],
        &["vitest.config.js", "vitest.config.ts", "vitest.config.mjs"],
    ),
    (
        &["mocha", "npm", "pnpm", "yarn", "bun", "npx"],
        &[".mocharc.js", ".mocharc.cjs", ".mocharc.json", ".mocharc.yml"],
    ),
    (&["cargo"], &[".cargo/config.toml", ".cargo/config", ".config/nextest.toml"]),
    (&["mvn", "mvnw"], &[".mvn/jvm.config", ".mvn/maven.config", ".mvn/extensions.xml"]),
    (&["rspec"], &[".rspec"]),
    (&["phpunit", "composer"], &["phpunit.xml", "phpunit.xml.dist"]),
];
/// Programs that run a file.
const INTERPRETERS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "ksh", ".", "source", "python", "python3", "node", "ruby", "perl",
    "php", "bats",
];
/// Parts of a name that say that a file checks something.
const CHECKING: [&str; 7] = ["check", "test", "spec", "verify", "valid", "lint", "gradlew"];
const CHECKING_WHOLE: [&str; 4] = ["ci", "qa", "mvnw", "gate"];

/// Managers that run scripts of a manifest, and the manifest.
const MANAGERS: &[(&str, &str)] = &[
    ("npm", "package.json"),
    ("pnpm", "package.json"),
    ("yarn", "package.json"),
    ("bun", "package.json"),
    ("composer", "composer.json"),
];

/// Files whose indented lines are commands.
const RECIPES: [&str; 6] =
    ["GNUmakefile", "makefile", "Makefile", "justfile", "Justfile", ".justfile"];
/// Keys of a manifest that configure runners of tests.
const RUNNERS: [&str; 4] = ["jest", "vitest", "mocha", "ava"];
/// Files that are followed, and how long one may be: a longer one is no script.
const FOLLOWED_MAX: usize = 64;
const FOLLOWED_BYTES_MAX: u64 = 256 * 1_024;

/// The files of the project at `root` that these commands run or are configured by.
pub fn defining_files(root: &Path, commands: &[String]) -> Vec<PathBuf> {
    follow(root, commands).0.into_iter().collect()
}

/// The files that commands run or are configured by, and all command lines on the way: the commands
/// themselves, and those of the scripts and recipes that they run.
fn follow(root: &Path, commands: &[String]) -> (BTreeSet<PathBuf>, Vec<String>) {
    let mut found = BTreeSet::new();
    let mut lines = Vec::new();
    let mut commands = commands.to_vec();
    let mut followed = 0;
    while let Some(command) = commands.pop() {
        for (manifest, script) in scripts_run(std::slice::from_ref(&command)) {
            // A script may run itself.
            followed += 1;
            if followed < FOLLOWED_MAX {
                commands.extend(script_line(&root.join(manifest), &script));
            }
        }
        let run = files_run(&command).into_iter().chain(read_by_itself(&command));
        for file in run {
            let path = root.join(&file);
            if path.is_file() && found.insert(file) && followed < FOLLOWED_MAX {
                followed += 1;
                commands.extend(commands_in(&path));
            }
        }
        lines.push(command);
    }
    (found, lines)
}

/// Files that a project does not have and that programs of its checks look for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingDefinitions {
    /// Those that would be read instead of a file that is there: a `GNUmakefile` beside a `Makefile`.
    pub replacing: Vec<PathBuf>,
    /// Those that would be read as well: a `conftest.py`.
    pub additional: Vec<PathBuf>,
}

impl MissingDefinitions {
    /// Finds them for commands that run in the project at `root`, and for what those run in turn.
    pub fn find(root: &Path, commands: &[String]) -> Self {
        let mut found = Self::default();
        let (_, lines) = follow(root, commands);
        let kinds: BTreeSet<_> = lines.iter().flat_map(|line| kinds_read(line)).collect();
        for kind in kinds {
            let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) =
                kind.iter().map(PathBuf::from).partition(|file| root.join(file).is_file());
            if there.iter().any(|file| RECIPES.iter().any(|name| Path::new(name) == file)) {
                found.replacing.extend(missing);
            } else {
                found.additional.extend(missing);
            }
        }
        found
    }
}

/// Files that the programs of a command read by themselves.
fn read_by_itself(command: &str) -> impl Iterator<Item = PathBuf> {
    kinds_read(command).into_iter().flatten().map(PathBuf::from)
}

/// The rows of [`FILES`] that the programs of a command read.
fn kinds_read(command: &str) -> Vec<&'static [&'static str]> {
    let mut found = Vec::new();
    for words in programs_of(command) {
        let Some((program, arguments)) = words.split_first() else { continue };
        let name = base_name(program);
        let module = module_of(name, arguments);
        let reads = |programs: &[&str]| {
            programs.contains(&name) || module.is_some_and(|module| programs.contains(&module))
        };
        found.extend(FILES.iter().filter(|(programs, _)| reads(programs)).map(|(_, files)| *files));
    }
    found
}

/// Files that a command runs and whose names say that they check something.
fn files_run(command: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for words in programs_of(command) {
        let Some((program, arguments)) = words.split_first() else { continue };
        // A variable stands for an interpreter more often than not.
        let interprets = INTERPRETERS.contains(&base_name(program)) || program.starts_with('$');
        let run = if interprets {
            arguments.iter().find(|word| !word.starts_with('-'))
        } else {
            Some(program).filter(|program| program.contains('/'))
        };
        let file = run.map(|file| PathBuf::from(file.trim_start_matches("./")));
        found.extend(file.filter(|file| file.is_relative() && checks_something(file)));
    }
    found
}

/// The lines of a file that are commands: all of a shell script, those below a target of a recipe.
fn commands_in(path: &Path) -> Vec<String> {
    if fs::metadata(path).is_ok_and(|file| file.len() > FOLLOWED_BYTES_MAX) {
        return Vec::new();
    }
    let Ok(text) = fs::read_to_string(path) else { return Vec::new() };
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_shell = matches!(path.extension().and_then(|end| end.to_str()), Some("sh" | "bash"))
        || text.lines().next().is_some_and(|first| first.starts_with("#!") && first.contains("sh"));
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    if RECIPES.contains(&name) {
        let below = lines.filter(|line| line.starts_with(['\t', ' ']));
        below.map(|line| line.trim_start().trim_start_matches(['@', '-', '+']).to_owned()).collect()
    } else if is_shell {
        lines.map(str::to_owned).collect()
    } else {
        Vec::new()
    }
}

/// The command of a script in a manifest.
fn script_line(manifest: &Path, script: &str) -> Option<String> {
    let manifest: Value = serde_json::from_slice(&fs::read(manifest).ok()?).ok()?;
    Some(manifest["scripts"][script].as_str()?.to_owned())
}

/// The module that `python -m` runs, or the program that `bundle exec` and the like run.
fn module_of<'w>(name: &str, arguments: &'w [String]) -> Option<&'w str> {
    let first = arguments.first()?.as_str();
    let rest = arguments.get(1..).unwrap_or_default();
    match (name, first) {
        ("python" | "python3", "-m")
        | ("bundle", "exec")
        | ("uv" | "poetry" | "pdm" | "pipenv" | "hatch", "run") => {
            let module = rest.iter().find(|word| !word.starts_with('-'))?;
            if base_name(module).starts_with("python") {
                return module_of("python", rest.get(1..).unwrap_or_default());
            }
            Some(module)
        }
        ("npx", first) => Some(first),
        _ => None,
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn checks_something(file: &Path) -> bool {
    file.iter().any(|part| {
        let part = part.to_string_lossy().to_lowercase();
        let stem = part.split('.').next().unwrap_or_default();
        CHECKING.iter().any(|known| part.contains(known)) || CHECKING_WHOLE.contains(&stem)
    })
}

/// The manifests whose scripts these commands run, with the names of the scripts.
pub(super) fn scripts_run(commands: &[String]) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for words in commands.iter().flat_map(|command| programs_of(command)) {
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

/// Whether a manifest defines a script that is run otherwise than its base does, or one that is run by
/// that.
pub(super) fn scripts_differ(script: &str, base: &[u8], now: &[u8]) -> bool {
    let read = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap_or_default() };
    let (base, now) = (read(base), read(now));
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
                wanted.extend(scripts_run(std::slice::from_ref(line)).into_iter().map(|(_, s)| s));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let found = defining_files(folder.path(), &[command.to_owned()]);
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{command}");
        }
    }

    #[test]
    fn what_a_recipe_or_a_script_runs_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
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
        let found = |command: &str| defining_files(folder.path(), &[command.to_owned()]);
        let paths = |files: &[&str]| files.iter().map(PathBuf::from).collect::<Vec<_>>();
        let all = paths(&["Makefile", "check_it.py", "ci/test.sh", "ci/verify"]);
        assert_eq!(found("make test"), all);
        assert_eq!(found("npm test"), paths(&["run-spec.js"]));
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
        let run = |line: &str| scripts_run(&[line.to_owned()]);
        let test = vec![("package.json", "test".to_owned())];
        for line in ["npm test", "npm run test", "CI=1 pnpm -s test", "yarn test --ci", "npm t"] {
            assert_eq!(run(line), test, "{line}");
        }
    }
}
