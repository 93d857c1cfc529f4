//! Reads a Makefile for the files that decide what `make` does: those that it includes, and those
//! whose mere presence keeps a target from being made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::commands::list_programs;

/// The names that `make` looks for, in its order.
const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Options that take the next word as a value, and options that lead to another Makefile.
const TAKING: [&str; 6] = ["-f", "-C", "-I", "-o", "-W", "-O"];
const ELSEWHERE: [&str; 5] = ["-f", "-C", "--file", "--makefile", "--directory"];
/// Maximum size of a Makefile that is read, in bytes.
const BYTES_MAX: u64 = 256 * 1_024;
/// Maximum number of targets that are followed.
const FOLLOWED_MAX: usize = 1_000;

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
        let path = NAMES.iter().map(|name| root.join(name)).find(|path| path.is_file())?;
        if fs::metadata(&path).is_ok_and(|file| file.len() > BYTES_MAX) {
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
            if seen.len() < FOLLOWED_MAX && seen.insert(target.clone()) {
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
            let name = program.rsplit('/').next().unwrap_or(program);
            if !matches!(name, "make" | "gmake" | "$(MAKE)" | "${MAKE}" | "$MAKE") {
                continue;
            }
            let is_elsewhere = |word: &String| {
                let option = word.split('=').next().unwrap_or(word);
                ELSEWHERE.contains(&option)
            };
            if arguments.iter().any(is_elsewhere) {
                continue;
            }
            let mut named = Vec::new();
            let mut words = arguments.iter();
            while let Some(word) = words.next() {
                if TAKING.contains(&word.as_str()) {
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

    const TEXT: &str = "PY := python3\n-include local.mk\ninclude a.mk \\\n  b.mk\n\
        .PHONY: lint\n\nall: test\ntest: unit lint app.py # all of it\n\t@sh x.sh: y\n\
        unit: ; $(PY) -m unittest\nlint:\n\ttrue\n%.o: %.c\n$(OUT): in\n";

    #[test]
    fn what_it_includes_and_what_would_stand_for_a_target_is_known() {
        let makefile = Makefile::parse(TEXT);
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
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
