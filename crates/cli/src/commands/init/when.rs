//! Signs in a project's folder that identify its tools.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Maximum number of bytes that are read of a file; the signs are in small files.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Maximum number of directory entries that are examined.
const NAMES_MAX: usize = 10_000;
/// Maximum number of subfolders that are examined as parts of the project.
const PARTS_MAX: usize = 50;
/// The text that npm writes for a missing test.
const NO_TEST: &str = "no test specified";

/// Operators that make a line of a Makefile or a justfile an assignment.
const ASSIGNMENTS: [&str; 6] = ["=", ":=", "::=", "?=", "+=", "!="];

/// A sign. Paths are relative to the root of the project.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProjectSign {
    /// The file or folder exists.
    There(&'static str),
    /// A file with this ending exists.
    Ending(&'static str),
    /// Any of these files contains this word.
    Says(&'static [&'static str], &'static str),
    /// A file with this ending, directly in this folder, contains this word.
    Inside(&'static str, &'static str, &'static str),
    /// Any of these files (a Makefile, a justfile) has a target of this name.
    Target(&'static [&'static str], &'static str),
    /// The JSON file has a real script `test`.
    TestScript(&'static str),
    /// The virtual environment `.venv` has this package, and is not the active environment.
    InVenv(&'static str),
}

/// The folder of a project, for inspection.
#[derive(Debug)]
pub(super) struct FolderInspector {
    root: PathBuf,
    /// The names directly below it.
    names: Vec<String>,
}

impl FolderInspector {
    pub(super) fn open(root: &Path) -> Self {
        let names = fs::read_dir(root).into_iter().flatten().take(NAMES_MAX);
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Self { root: root.to_owned(), names: names.collect() }
    }

    pub(super) fn has_signs(&self, signs: &[ProjectSign]) -> bool {
        signs.iter().all(|sign| self.has_sign(*sign))
    }

    /// Returns the folders directly below that may hold a part of the project, by name.
    pub(super) fn list_parts(&self) -> Vec<(&str, Self)> {
        const OTHERS: [&str; 5] = ["node_modules", "vendor", "target", "build", "dist"];
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let is_part = |name: &&String| {
            !name.starts_with(['.', '-'])
                && name.chars().all(is_plain)
                && !OTHERS.contains(&name.as_str())
                && self.is_folder(name)
        };
        let mut names: Vec<&String> = self.names.iter().filter(is_part).collect();
        names.sort_unstable();
        names.truncate(PARTS_MAX);
        names.into_iter().map(|name| (name.as_str(), Self::open(&self.root.join(name)))).collect()
    }

    pub(super) fn is_folder(&self, path: &str) -> bool {
        self.root.join(path).is_dir()
    }

    fn has_sign(&self, sign: ProjectSign) -> bool {
        match sign {
            ProjectSign::There(path) => self.root.join(path).exists(),
            ProjectSign::Ending(ending) => self.names.iter().any(|name| name.ends_with(ending)),
            ProjectSign::Says(files, word) => {
                files.iter().any(|file| self.read_text(file).contains(word))
            }
            ProjectSign::Inside(folder, ending, word) => {
                let inside = Self::open(&self.root.join(folder));
                let mut files = inside.names.iter().filter(|name| name.ends_with(ending));
                files.any(|name| inside.read_text(name).contains(word))
            }
            ProjectSign::Target(files, name) => {
                files.iter().any(|file| has_target(&self.read_text(file), name))
            }
            ProjectSign::TestScript(file) => has_test_script(&self.read_text(file)),
            ProjectSign::InVenv(package) => self.has_in_venv(package),
        }
    }

    fn has_in_venv(&self, package: &str) -> bool {
        let venv = self.root.join(".venv");
        let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
        let versions = fs::read_dir(venv.join("lib")).into_iter().flatten().flatten();
        let mut packages = versions.map(|version| version.path().join("site-packages"));
        active.is_none_or(|active| active != venv)
            && packages.any(|folder| folder.join(package).is_dir())
    }

    /// Returns the text of a file; empty if there is none.
    fn read_text(&self, path: &str) -> String {
        let mut bytes = Vec::new();
        if let Ok(file) = File::open(self.root.join(path)) {
            // The bytes before a read error are used as they are.
            let _ = file.take(FILE_BYTES_MAX).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Returns whether a line begins with the name of a target and has a colon; a recipe of `just` may have
/// parameters in between, and a `@` before it. A variable of that name does not count.
fn has_target(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let line = line.strip_prefix('@').unwrap_or(line);
        let rest = line.strip_prefix(name).filter(|rest| rest.starts_with([':', ' ', '\t']));
        rest.is_some_and(|rest| {
            let assigns = ASSIGNMENTS.iter().any(|sign| rest.trim_start().starts_with(sign));
            rest.contains(':') && !assigns
        })
    })
}

fn has_test_script(text: &str) -> bool {
    let read: Value = serde_json::from_str(text).unwrap_or_default();
    match &read["scripts"]["test"] {
        Value::String(script) => !script.trim().is_empty() && !script.contains(NO_TEST),
        // Composer allows several commands.
        Value::Array(scripts) => !scripts.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_name_with_a_colon_at_the_beginning_of_a_line() {
        let cases = [
            ("test:\n\tgo test", true),
            ("all: test\n\ntest: all\n", true),
            ("test filter='':\n  cargo test", true),
            ("test filter:\n  cargo test", true),
            ("@test:\n  cargo test", true),
            ("test-all:\n", false),
            ("all: test\n", false),
            ("\ttest: x\n", false),
            ("test := 1\n", false),
            ("test = a:b\n", false),
            ("TEST = 1\n", false),
            ("", false),
        ];
        for (text, is) in cases {
            assert_eq!(has_target(text, "test"), is, "{text:?}");
        }
    }

    #[test]
    fn a_test_script_is_more_than_a_place_holder() {
        let cases = [
            (r#"{"scripts":{"test":"vitest run"}}"#, true),
            (r#"{"scripts":{"test":["a","b"]}}"#, true),
            (r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#, false),
            (r#"{"scripts":{"test":" "}}"#, false),
            (r#"{"scripts":{"build":"tsc"}}"#, false),
            (r#"{"scripts":[]}"#, false),
            ("{", false),
        ];
        for (text, is) in cases {
            assert_eq!(has_test_script(text), is, "{text}");
        }
    }
}
