//! What defines a check: the files that its command runs, and the scripts of a manifest.
//!
//! A check that an agent can rewrite proves nothing. A file counts only where its name says what it
//! is for (`scripts/check.sh`, a Makefile for `make test`): in `sh shop.sh | grep hello` the script is
//! the work.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::commands::programs_of;

/// Programs, and the files at the root of a project that say what they do.
const FILES: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["rake"], &["Rakefile"]),
    (&["tox"], &["tox.ini"]),
    (&["nox"], &["noxfile.py"]),
    (&["pytest", "py.test"], &["pytest.ini", "tox.ini", "conftest.py"]),
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

/// The files of the project at `root` that these commands run or are configured by.
pub fn defining_files(root: &Path, commands: &[String]) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for words in commands.iter().flat_map(|command| programs_of(command)) {
        let Some((program, arguments)) = words.split_first() else { continue };
        let name = base_name(program);
        let module = module_of(name, arguments);
        for (programs, files) in FILES {
            if programs.contains(&name) || module.is_some_and(|module| programs.contains(&module)) {
                found.extend(files.iter().map(PathBuf::from));
            }
        }
        let run = if INTERPRETERS.contains(&name) {
            arguments.iter().find(|word| !word.starts_with('-'))
        } else {
            Some(program).filter(|program| program.contains('/'))
        };
        let file = run.map(|file| PathBuf::from(file.trim_start_matches("./")));
        found.extend(file.filter(|file| file.is_relative() && checks_something(file)));
    }
    found.into_iter().filter(|file| root.join(file).is_file()).collect()
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
        std::fs::create_dir(folder.path().join("scripts")).unwrap();
        for file in files {
            std::fs::write(folder.path().join(file), "").unwrap();
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
    fn a_script_that_is_run_may_not_change_and_others_may() {
        let base = br#"{"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc"}}"#;
        let table = [
            (&br#"{"scripts":{"test":"npm run unit","unit":"vitest run","build":"tsc -b"},"dependencies":{"a":"1"}}"#[..], false),
            (br#"{"scripts":{"test":"true","unit":"vitest run","build":"tsc"}}"#, true),
            (br#"{"scripts":{"test":"npm run unit","unit":"true","build":"tsc"}}"#, true),
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
