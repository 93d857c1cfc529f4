//! Whether a check that was red before the work belongs to a task, as far as its words tell.

use std::collections::BTreeSet;

use unstuck_core::failing::{CheckFailures, is_test_named_in};
use unstuck_world::validate::{Baseline, BaselineFailure};

use super::wording::{has_word, is_test_word, split_affirmed, split_sentences, split_words};

/// The failures of the checks that are red as before the work.
pub(super) struct OldFailures<'a> {
    /// The failures that are left.
    pub(super) left: Vec<&'a CheckFailures>,
    /// The tests that failed before the work and pass now.
    pub(super) mended: BTreeSet<String>,
}

impl<'a> OldFailures<'a> {
    /// Returns the failures of `red`, compared with those at `base`.
    pub(super) fn new(red: &'a [BaselineFailure], base: Option<&Baseline>) -> Self {
        let mended = red.iter().flat_map(|check| {
            let mended = base.map(|base| base.mended_tests(&check.command, &check.failures));
            mended.unwrap_or_default()
        });
        Self { mended: mended.collect(), left: red.iter().map(|check| &check.failures).collect() }
    }

    /// Returns whether the words are about the failures that are left: they name one, or ask that
    /// checks pass. Where they name a test that passes now, the request is met.
    pub(super) fn belong_to(&self, words: &str) -> bool {
        let about: Vec<&str> =
            split_sentences(words).into_iter().filter(|said| !leaves_alone(said)).collect();
        let about = about.join("\n");
        self.left.iter().any(|left| left.are_named_in(&about))
            || split_affirmed(words)
                .into_iter()
                .any(|said| asks_for_green(said) && !self.is_met(said))
    }

    /// Returns whether a sentence asks for tests that pass now, and not for all of them.
    fn is_met(&self, sentence: &str) -> bool {
        const ALL: [&str; 9] =
            ["all", "every", "everything", "tests", "specs", "checks", "suite", "ci", "build"];
        let trim = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let speaks_of_all =
            sentence.split_whitespace().any(|word| ALL.contains(&trim(word).as_str()));
        let is_named =
            |test: &String| is_test_named_in(test, sentence) || is_file_named_in(test, sentence);
        !speaks_of_all && self.mended.iter().any(is_named)
    }
}

/// Returns whether a sentence contains a part of a test's name that is the name of a file or a class:
/// `test_vat` of `tests.test_vat.Vat.test_rate`.
fn is_file_named_in(test: &str, sentence: &str) -> bool {
    let mut parts = test.split([':', '.', '/', '>', '#', ' ']);
    parts.any(|part| part.contains('_') && sentence.contains(part))
}

/// Returns whether a sentence says that something is not part of the work.
fn leaves_alone(sentence: &str) -> bool {
    const LEAVING: [&str; 5] = ["unrelated", "alone", "nothing", "ignore", "elsewhere"];
    const OTHER: [&str; 6] = ["touch", "part", "related", "belong", "belongs", "concern"];
    let words = split_words(sentence);
    has_word(&words, &LEAVING)
        || has_word(&words, &["not"]) && has_word(&words, &OTHER)
        || has_word(&words, &["another", "other"]) && has_word(&words, &["reason", "reasons"])
}

/// Returns whether a sentence speaks of tests or checks that fail or have to pass: "the tests are
/// red, get them green". Where they only have to stay green, that says nothing about a red one.
fn asks_for_green(sentence: &str) -> bool {
    const CHECKS: [&str; 7] = ["check", "checks", "suite", "ci", "build", "pipeline", "lint"];
    const STATES: [&str; 14] = [
        "pass", "passes", "passing", "green", "red", "fail", "fails", "failing", "failed",
        "failure", "failures", "broken", "breaks", "breaking",
    ];
    const STAYING: [&str; 7] = ["still", "keep", "keeps", "stay", "stays", "remain", "remains"];
    let words = split_words(sentence);
    let is_about_checks = has_word(&words, &CHECKS) || words.iter().any(|word| is_test_word(word));
    is_about_checks
        && has_word(&words, &STATES)
        && !has_word(&words, &STAYING)
        && !leaves_alone(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(names: &[&str]) -> CheckFailures {
        let mut failures = CheckFailures::default();
        failures.tests = names.iter().map(|name| (*name).to_owned()).collect();
        failures
    }

    fn belong(words: &str, left: &[&str], mended: &[&str]) -> bool {
        let left = failing(left);
        OldFailures { left: vec![&left], mended: failing(mended).tests }.belong_to(words)
    }

    #[test]
    fn words_say_whether_a_red_check_belongs_to_the_work() {
        let table = [
            ("the tests are red, get them green", true),
            ("make the leap year tests pass", true),
            ("make test fails, get it green", true),
            ("fix the broken build", true),
            ("fix the failing CI", true),
            ("add a farewell", false),
            ("add a farewell; the tests still have to pass", false),
            ("Round it. Keep the tests green.", false),
            ("Add a farewell. The lint is red for an unrelated reason.", false),
            ("add a function and test it", false),
        ];
        for (words, expected) in table {
            assert_eq!(belong(words, &["test_other"], &[]), expected, "{words}");
        }
    }

    // B15: one of several old failures was asked for.
    #[test]
    fn a_test_that_was_asked_for_and_passes_leaves_the_others_to_a_person() {
        let vat = "tests.test_vat.Vat.test_rounding";
        let table = [
            ("make test_add pass", "tests.test_calc.Calc.test_add", false),
            ("make the test “adds two numbers” pass", "adds two numbers", false),
            ("tests/test_vat.py is red since the rate is wrong: mend vat", vat, false),
            ("make test_add and test_double pass", "test_add", true),
            ("make all tests pass, test_add too", "test_add", true),
            ("make test_sub pass", "test_add", true),
            ("make test_add pass; test_double is red for another reason", "test_add", false),
            ("make test_add pass; leave test_double alone", "test_add", false),
            ("make test_add pass; test_double is not part of this", "test_add", false),
        ];
        for (words, mended, expected) in table {
            assert_eq!(belong(words, &["test_double"], &[mended]), expected, "{words}");
        }
    }
}
