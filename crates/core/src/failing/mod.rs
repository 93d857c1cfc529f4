//! The failed tests of a red check, and whether two red checks fail in the same way.
//!
//! [`CheckFailures::from_output`] extracts the names of failed tests from the output of a test runner (`runners.rs` is
//! the table) and the lines that state the failure, without parts that vary from run to run (`steady.rs`).
//! Numbers in a message stay: another value is another failure. If the runner names no test, the whole output
//! counts.

mod runners;
mod steady;
mod totals;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::signature::plain_text;
pub use totals::tests_run;

/// Maximum number of failed tests kept of an output.
pub const TESTS_MAX: usize = 2_000;
/// Maximum number of lines compared of an output.
const LINES_MAX: usize = 4_000;

/// The failures of a run of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFailures {
    /// The failed tests by name, if the output names them.
    pub tests: BTreeSet<String>,
    /// Hashes of the lines that state the failure, normalized so that the same failure has the same lines; no
    /// text of the output is kept.
    lines: BTreeSet<u64>,
}

impl CheckFailures {
    /// Reads the output of a check that ran in the folder `root`.
    pub fn from_output(output: &[u8], root: &str) -> Self {
        let text = plain_text(output);
        let text = if root.is_empty() { text } else { text.replace(root, ".") };
        let tests = runners::failed_tests(&text);
        let states = |line: &&str| tests.is_empty() || steady::states_a_value(line);
        let lines = text.lines().filter(states).map(steady::steady_line);
        let lines = lines.filter(|line| !line.is_empty()).take(LINES_MAX);
        let lines = lines.map(|line| hash_line(&line)).collect();
        Self { tests, lines }
    }

    /// Returns whether nothing failed that is not in `base`: a subset of its tests, with the same messages.
    /// If tests are not named, the output has to be the same.
    pub fn are_within(&self, base: &Self) -> bool {
        if self.tests.is_empty() || base.tests.is_empty() {
            return self == base;
        }
        self.tests.is_subset(&base.tests) && self.lines.is_subset(&base.lines)
    }

    /// Returns whether a person's text is about one of the failed tests: it contains the name, or it mentions
    /// tests and contains every word of the name.
    pub fn are_named_in(&self, text: &str) -> bool {
        let words: BTreeSet<String> = split_words(text).collect();
        let is_about_tests = words.iter().any(|word| is_about_tests(word));
        self.tests.iter().any(|test| {
            let leaf = test.rsplit([':', '.', '>', '/', '\\', '#']).next().unwrap_or(test).trim();
            if leaf.contains('_') && text.contains(leaf) {
                return true;
            }
            let mut own = split_words(leaf).filter(|word| !is_filler(word)).peekable();
            is_about_tests && own.peek().is_some() && own.all(|word| words.contains(&word))
        })
    }
}

fn hash_line(line: &str) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(line.as_bytes()).as_bytes()[..8]);
    u64::from_be_bytes(first)
}

/// Returns lower-case words, split at everything but letters and digits, and at capitals inside a name.
fn split_words(text: &str) -> impl Iterator<Item = String> {
    let mut cut = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for letter in text.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            cut.push(' ');
        }
        cut.extend(letter.to_lowercase());
        before = letter;
    }
    let words: Vec<String> = cut
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words.into_iter()
}

/// Returns whether a word is typical of a goal to make a check pass.
fn is_about_tests(word: &str) -> bool {
    matches!(
        word,
        "test"
            | "tests"
            | "spec"
            | "check"
            | "checks"
            | "failing"
            | "fails"
            | "red"
            | "green"
            | "pass"
    )
}

/// Returns whether a word of a test's name does not describe what it tests.
fn is_filler(word: &str) -> bool {
    matches!(word, "test" | "tests" | "should" | "it" | "spec" | "the" | "a" | "is")
}

#[cfg(test)]
mod tests;
