//! Finds the files that other files or options refer to, and that are part of a check for that
//! reason: those that a test runner loads before the tests, which can replace the tested code;
//! those that a Makefile includes; and those whose mere presence keeps `make` from making a target.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::commands::{base_name, list_programs};

/// Options whose value is a file that is loaded first.
const LOADING_OPTIONS: [&str; 10] = [
    "-r", "--require", "--import", "--loader", "--experimental-loader", "--preload",
    "--setupFiles", "--setupFilesAfterEnv", "--globalSetup", "--bootstrap",
];
/// Keys of a runner's settings whose values are such files.
const LOADING_KEYS: [&str; 7] = [
    "setupFiles", "setupFilesAfterEnv", "globalSetup", "globalTeardown", "require", "bootstrap",
    "preload",
];
/// Extensions of programs. The runner adds the first six if there is none.
const ENDINGS: [&str; 9] = ["js", "cjs", "mjs", "ts", "cts", "mts", "rb", "php", "py"];
const ADDED: usize = 6;

/// Beginnings of the names of files that hold a runner's settings.
const RUNNER_SETTINGS: [&str; 6] = [
    "jest.config.", "vitest.config.", "vitest.workspace.", ".mocharc.", "playwright.config.",
    "bunfig.",
];

pub(super) fn is_runner_settings(name: &str) -> bool {
    RUNNER_SETTINGS.iter().any(|begins| name.starts_with(begins))
}

/// Returns the project's files that a command tells a runner to load first.
pub(super) fn find_loaded_by_command(command: &str) -> Vec<PathBuf> {
    let mut words = command.split(|c: char| c.is_whitespace() || "\"'=`".contains(c));
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if LOADING_OPTIONS.contains(&word) {
            found.extend(words.next().into_iter().flat_map(candidate_files));
        }
    }
    found
}

/// Returns the project's files that the settings of a runner name to be loaded first.
pub(super) fn find_loaded_by_settings(text: &str) -> Vec<PathBuf> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut found = Vec::new();
    for key in LOADING_KEYS {
        for (at, _) in text.match_indices(key) {
            let before = &text[..at];
            let after = &text[at + key.len()..];
            let after = after.trim_start_matches(['"', '\'']).trim_start();
            let value = after.strip_prefix([':', '=']).unwrap_or_default().trim_start_matches(' ');
            if !before.ends_with(is_part) && !value.is_empty() {
                let words =
                    cut_value(value).split(|c: char| c.is_whitespace() || "\"'`,[]".contains(c));
                found.extend(words.flat_map(candidate_files));
            }
        }
    }
    found
}

/// Returns the files that settings in JSON, with or without comments, extend, relative to their own folder.
pub(super) fn find_extended(text: &str) -> Vec<PathBuf> {
    let Some((_, rest)) = text.split_once("\"extends\"") else { return Vec::new() };
    let value = rest.trim_start().strip_prefix(':').unwrap_or_default().trim_start();
    let value = match value.strip_prefix('[') {
        Some(list) => list.split(']').next().unwrap_or_default(),
        None => value.split([',', '}', '\n']).next().unwrap_or_default(),
    };
    let names = value.split('"').filter_map(|name| name.strip_prefix("./"));
    let json = |name: &str| match Path::new(name).extension().and_then(|end| end.to_str()) {
        Some("json") => PathBuf::from(name),
        _ => PathBuf::from(format!("{name}.json")),
    };
    names.map(json).collect()
}

/// Returns the text of one value: a list up to its end, a line, or the items below it.
fn cut_value(text: &str) -> &str {
    if text.starts_with('[') {
        return text.split(']').next().unwrap_or_default();
    }
    let mut end = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number > 0 && !line.trim_start().starts_with("- ") {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

/// Returns the paths under which a word may be a program of the project.
fn candidate_files(word: &str) -> Vec<PathBuf> {
    let plain = word.trim_start_matches("<rootDir>/");
    let is_relative = plain != word || word.starts_with("./");
    let plain = plain.trim_start_matches("./");
    let ending =
        plain.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, end)| end);
    let is_program = ending.is_some_and(|ending| ENDINGS.contains(&ending));
    if plain.is_empty() || plain.starts_with(['/', '-', '$']) || plain.contains("..") {
        return Vec::new();
    }
    if is_program {
        return vec![PathBuf::from(plain)];
    }
    let added = ENDINGS[..ADDED].iter().map(|ending| PathBuf::from(format!("{plain}.{ending}")));
    if is_relative { added.collect() } else { Vec::new() }
}

/// The names that `make` looks for, in its order.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Options that take the next word as a value, and options that lead to another Makefile.
const MAKE_OPTIONS_WITH_VALUE: [&str; 6] = ["-f", "-C", "-I", "-o", "-W", "-O"];
const MAKE_OPTIONS_ELSEWHERE: [&str; 5] = ["-f", "-C", "--file", "--makefile", "--directory"];
/// Maximum size of a Makefile that is read, in bytes.
const MAKEFILE_BYTES_MAX: u64 = 256 * 1_024;
/// Maximum number of targets that are followed.
const TARGETS_FOLLOWED_MAX: usize = 1_000;

/// A Makefile, as far as it can be parsed without running it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Makefile {
    pub(super) includes: Vec<PathBuf>,
    /// Targets with their prerequisites.
    rules: Vec<(String, Vec<String>)>,
    /// Targets that are always made, even if a file of their name exists.
    phony: BTreeSet<String>,
}

impl Makefile {
    /// Reads the Makefile of the project at `root`, if it has one.
    pub(super) fn read_from(root: &Path) -> Option<Self> {
        let path = MAKEFILES.iter().map(|name| root.join(name)).find(|path| path.is_file())?;
        if fs::metadata(&path).is_ok_and(|file| file.len() > MAKEFILE_BYTES_MAX) {
            return None;
        }
        fs::read_to_string(path).ok().map(|text| Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let joined = text.replace("\\\n", " ");
        for line in joined.lines().filter(|line| !line.starts_with('\t')) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if let Some(files) = parse_include(line) {
                let plain = files.split_whitespace().filter(|file| is_plain_name(file));
                found.includes.extend(plain.map(PathBuf::from));
            } else if let Some((targets, needs)) = line.split_once(':') {
                // `a := b` and `a ::= b` assign variables.
                if needs.trim_start_matches(':').starts_with('=') || targets.contains('=') {
                    continue;
                }
                let needs = needs.trim_start_matches(':').split(';').next().unwrap_or_default();
                let needs = needs.split_whitespace().filter(|need| is_plain_name(need));
                let needs: Vec<String> = needs.map(str::to_owned).collect();
                for target in targets.split_whitespace().filter(|target| is_plain_name(target)) {
                    if target == ".PHONY" {
                        found.phony.extend(needs.iter().cloned());
                    } else {
                        found.rules.push((target.to_owned(), needs.clone()));
                    }
                }
            }
        }
        found
    }

    /// Returns the files that would keep these commands from making a target: the targets that they
    /// name and their prerequisites, if a rule makes them and they are not phony.
    pub(super) fn find_shadowing_files(&self, commands: &[String]) -> BTreeSet<PathBuf> {
        let mut wanted: Vec<String> =
            commands.iter().flat_map(|line| self.find_goals(line)).collect();
        let mut seen = BTreeSet::new();
        while let Some(target) = wanted.pop() {
            if seen.len() < TARGETS_FOLLOWED_MAX && seen.insert(target.clone()) {
                let rules = self.rules.iter().filter(|(name, _)| *name == target);
                wanted.extend(rules.flat_map(|(_, needs)| needs.iter().cloned()));
            }
        }
        let is_made = |target: &String| self.rules.iter().any(|(name, _)| name == target);
        let standing = seen.into_iter().filter(|name| is_made(name) && !self.phony.contains(name));
        standing.map(|name| PathBuf::from(name.trim_start_matches("./"))).collect()
    }

    /// Returns the targets that a command asks `make` for, or the first one if it names none.
    fn find_goals(&self, command: &str) -> Vec<String> {
        let mut goals = Vec::new();
        for words in list_programs(command) {
            let Some((program, arguments)) = words.split_first() else { continue };
            if !matches!(base_name(program), "make" | "gmake" | "$(MAKE)" | "${MAKE}" | "$MAKE") {
                continue;
            }
            let is_elsewhere = |word: &String| {
                let option = word.split('=').next().unwrap_or(word);
                MAKE_OPTIONS_ELSEWHERE.contains(&option)
            };
            if arguments.iter().any(is_elsewhere) {
                continue;
            }
            let mut named = Vec::new();
            let mut words = arguments.iter();
            while let Some(word) = words.next() {
                if MAKE_OPTIONS_WITH_VALUE.contains(&word.as_str()) {
                    words.next();
                } else if !word.starts_with('-') && is_plain_name(word) {
                    named.push(word.clone());
                }
            }
            if named.is_empty() {
                let first = self.rules.iter().find(|(name, _)| !name.starts_with('.'));
                named.extend(first.map(|(name, _)| name.clone()));
            }
            goals.extend(named);
        }
        goals
    }
}

fn parse_include(line: &str) -> Option<&str> {
    let (word, files) = line.split_once(char::is_whitespace)?;
    matches!(word, "include" | "-include" | "sinclude").then_some(files)
}

/// Returns whether a word is a literal name.
fn is_plain_name(word: &str) -> bool {
    !word.is_empty() && !word.contains(['$', '%', '*', '?', '=', '(', ')', '|'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn options_name_files_that_are_loaded_first() {
        let table: [(&str, &[&str]); 7] = [
            ("node --require ./setup.js --test test/", &["setup.js"]),
            ("NODE_OPTIONS='--import=./test-env.mjs' vitest run", &["test-env.mjs"]),
            ("mocha -r test-env/setup.cjs", &["test-env/setup.cjs"]),
            ("vendor/bin/phpunit --bootstrap boot.php", &["boot.php"]),
            ("mocha -r ts-node/register", &[]),
            ("grep -r hello page.js", &[]),
            ("node --require /etc/x.js --test", &[]),
        ];
        for (command, expected) in table {
            assert_eq!(find_loaded_by_command(command), paths(expected), "{command}");
        }
        assert!(
            find_loaded_by_command("mocha --require ./setup").contains(&PathBuf::from("setup.ts"))
        );
    }

    #[test]
    fn settings_name_files_that_are_loaded_first() {
        let table: [(&str, &[&str]); 6] = [
            (
                "module.exports = { setupFiles: ['<rootDir>/a.js', './b.js'], x: 1 }",
                &["a.js", "b.js"],
            ),
            (r#"{"setupFilesAfterEnv":["./env.js"],"verbose":true}"#, &["env.js"]),
            (
                "export default { test: {\n  globalSetup: './global.ts',\n  name: 'c.js'\n} }",
                &["global.ts"],
            ),
            ("require:\n  - ./one.js\n  - two.cjs\nspec: test.js\n", &["one.js", "two.cjs"]),
            ("preload = [\"./happydom.ts\"]\n", &["happydom.ts"]),
            ("const path = require('path');\n", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(find_loaded_by_settings(text), paths(expected), "{text}");
        }
    }

    const TEXT: &str = "PY := python3\n-include local.mk\ninclude a.mk \\\n  b.mk\n\
        .PHONY: lint\n\nall: test\ntest: unit lint app.py # all of it\n\t@sh x.sh: y\n\
        unit: ; $(PY) -m unittest\nlint:\n\ttrue\n%.o: %.c\n$(OUT): in\n";

    #[test]
    fn what_it_includes_and_what_would_stand_for_a_target_is_known() {
        let makefile = Makefile::parse(TEXT);
        assert_eq!(makefile.includes, paths(&["local.mk", "a.mk", "b.mk"]));
        let standing = |command: &str| {
            makefile.find_shadowing_files(&[command.to_owned()]).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(standing("make test"), paths(&["test", "unit"]));
        assert_eq!(standing("CI=1 make -j 4 V=1 unit"), paths(&["unit"]));
        assert_eq!(standing("make"), paths(&["all", "test", "unit"]));
        assert_eq!(standing("make lint"), paths(&[]));
        assert_eq!(standing("make -C sub test"), paths(&[]));
        assert_eq!(standing("sh test.sh"), paths(&[]));
    }
}
