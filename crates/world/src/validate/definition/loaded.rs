//! Finds files that a test runner loads before the tests, by its options or its settings: they can
//! replace the tested code, so they are part of the check.

use std::path::PathBuf;

/// Options whose value is a file that is loaded first.
const OPTIONS: [&str; 10] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "--preload",
    "--setupFiles",
    "--setupFilesAfterEnv",
    "--globalSetup",
    "--bootstrap",
];
/// Keys of a runner's settings whose values are such files.
const KEYS: [&str; 7] = [
    "setupFiles",
    "setupFilesAfterEnv",
    "globalSetup",
    "globalTeardown",
    "require",
    "bootstrap",
    "preload",
];
/// Extensions of programs. The runner adds the first six if there is none.
const ENDINGS: [&str; 9] = ["js", "cjs", "mjs", "ts", "cts", "mts", "rb", "php", "py"];
const ADDED: usize = 6;

/// Beginnings of the names of files that hold a runner's settings.
const SETTINGS: [&str; 6] = [
    "jest.config.",
    "vitest.config.",
    "vitest.workspace.",
    ".mocharc.",
    "playwright.config.",
    "bunfig.",
];

/// Returns whether a file of this name holds settings of a runner.
pub(super) fn is_runner_settings(name: &str) -> bool {
    SETTINGS.iter().any(|begins| name.starts_with(begins))
}

/// Returns the project's files that a command tells a runner to load first.
pub(super) fn find_in_command(command: &str) -> Vec<PathBuf> {
    let mut words = command.split(|c: char| c.is_whitespace() || "\"'=`".contains(c));
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if OPTIONS.contains(&word) {
            found.extend(words.next().into_iter().flat_map(candidate_files));
        }
    }
    found
}

/// Returns the project's files that the settings of a runner name to be loaded first.
pub(super) fn find_in_settings(text: &str) -> Vec<PathBuf> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut found = Vec::new();
    for key in KEYS {
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
            assert_eq!(find_in_command(command), paths(expected), "{command}");
        }
        assert!(find_in_command("mocha --require ./setup").contains(&PathBuf::from("setup.ts")));
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
            assert_eq!(find_in_settings(text), paths(expected), "{text}");
        }
    }
}
