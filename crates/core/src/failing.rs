//! The failed tests of a red check, and whether two red checks fail in the same way.
//!
//! [`CheckFailures::from_output`] extracts the names of failed tests from the output of a test runner (`runners.rs` is
//! the table) and the lines that state the failure, without parts that vary from run to run: places, durations,
//! times, addresses and names of temporary files. Numbers in a message stay: another value is another failure. If
//! the runner names no test, the whole output counts.

mod runners;
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
        let states = |line: &&str| tests.is_empty() || states_a_value(line);
        let lines = text.lines().filter(states).map(steady_line);
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

/// Words of lines that state an expected or an actual value, or an error.
const STATES: &[&str] = &[
    "assert", "expected", "received", "actual", "got", "want", "left:", "right:", "panicked",
    "error", "exception", "failed:", "failure", "!=", "==", "not equal", "raise", "mismatch",
    "undefined", "cannot", "could not", "unexpected", "missing", "diff",
];

/// Returns whether a line of a run with named tests states the failure. Progress, totals and lists of tests
/// change whenever a test is added, and carry no information about a failure.
fn states_a_value(line: &str) -> bool {
    let line = line.trim_start();
    if is_summary(line) {
        return false;
    }
    let is_marked = ["E  ", "+ ", "- ", "+", "-"].iter().any(|mark| line.starts_with(mark))
        && !line.starts_with("---")
        && !line.starts_with("+++");
    let lower = line.to_ascii_lowercase();
    is_marked || STATES.iter().any(|word| lower.contains(word))
}

/// Returns whether a line is a summary: `=== 1 failed, 3 passed in 0.1s ===`, `test result: FAILED. 1 passed;
/// 1 failed`, `Tests: 1 failed`.
pub(crate) fn is_summary(line: &str) -> bool {
    let line = line.trim_matches(['=', ' ', '-', '#']).to_ascii_lowercase();
    let counts = ["passed", "failed", "failures", "failing", "passing", "tests", "errors", "ran "];
    let starts =
        ["test result:", "tests:", "tests ", "test files", "test suites:", "ran ", "fail "];
    let is_count = line.starts_with(|first: char| first.is_ascii_digit())
        && counts.iter().any(|word| line.contains(word));
    is_count
        || starts.iter().any(|word| line.starts_with(word))
        || line.starts_with("failed (")
        || line.starts_with("error: test failed")
        || line.starts_with("error: process didn't exit")
        || line.contains(" (wstat: ")
}

/// Returns the normalized line, equal for the same failure.
fn steady_line(line: &str) -> String {
    let mut steady = String::with_capacity(line.len());
    for (at, word) in line.split_whitespace().enumerate() {
        if at > 0 {
            steady.push(' ');
        }
        steady.push_str(&steady_word(word));
    }
    // `in 0.12 s`, `line 14`: the number is a word of its own.
    without_numbers_after(&without_numbers_before(&steady))
}

/// Units that follow a duration as a word of their own.
const UNITS: &[&str] = &[
    "s", "ms", "us", "ns", "sec", "secs", "second", "seconds", "minutes", "wallclock", "usr",
    "sys", "cusr", "csys", "CPU",
];

fn without_numbers_before(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let masked = words.iter().enumerate().map(|(at, word)| {
        let unit = words.get(at + 1).map(|next| next.trim_end_matches([')', ']', ',', '.', ';']));
        let is_number = is_decimal(word.trim_start_matches(['(', '[']));
        if is_number && unit.is_some_and(|unit| UNITS.contains(&unit)) { "#" } else { word }
    });
    masked.collect::<Vec<_>>().join(" ")
}

fn without_numbers_after(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let masked = words.iter().enumerate().map(|(at, word)| {
        let is_place = at > 0 && matches!(words[at - 1], "line" | "Line" | "pid" | "PID");
        if is_place && is_decimal(word.trim_end_matches([',', ':', '.', ')'])) { "#" } else { word }
    });
    masked.collect::<Vec<_>>().join(" ")
}

fn is_decimal(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Returns a word without its varying parts.
fn steady_word(word: &str) -> String {
    let bare = word.trim_matches(['(', ')', '[', ']', ',', ';', '"', '\'', '<', '>', '{', '}']);
    if is_duration(bare) || is_clock(bare) || is_address(bare) {
        return word.replace(bare, "#");
    }
    if bare.contains("/tmp/") || bare.contains("/var/folders/") {
        return word.replace(bare, "/tmp/#");
    }
    match place_file(bare) {
        Some(file) => word.replace(bare, file),
        None => word.to_owned(),
    }
}

/// Returns whether a word is a duration: `0.12s`, `3ms`, `1m2s`.
fn is_duration(word: &str) -> bool {
    let number = word.trim_end_matches(|last: char| last.is_ascii_alphabetic() || last == 'µ');
    let unit = &word[number.len()..];
    is_decimal(number) && matches!(unit, "s" | "ms" | "us" | "µs" | "ns" | "m" | "min")
}

/// Returns whether a word is a time: `12:31:05`, `2026-11-16T12:31:05.001Z`.
fn is_clock(word: &str) -> bool {
    let digits = |byte: u8| byte.is_ascii_digit() || b":-.TZ+,".contains(&byte);
    word.matches(':').count() >= 2 && word.bytes().all(digits)
}

/// Returns whether a word is an address: `0x7f3a…`.
fn is_address(word: &str) -> bool {
    let Some(digits) = word.strip_prefix("0x") else { return false };
    digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the file of a place such as `src/lib.rs:12:5` or `test_a.py:3:`.
pub(crate) fn place_file(word: &str) -> Option<&str> {
    let (file, place) = word.split_once(':')?;
    let is_file = file.contains('.') || file.contains('/');
    let mut numbers = place.trim_end_matches(':').split(':');
    let all = numbers.all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    (is_file && all).then_some(file)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::CheckFailures;

    fn tests(output: &str) -> Vec<String> {
        CheckFailures::from_output(output.as_bytes(), "").tests.into_iter().collect()
    }

    #[test]
    fn every_runner_names_its_failed_tests() {
        let cases: &[(&str, &[&str])] = &[
            (
                "FAILED tests/test_a.py::test_b[1-2] - assert 1 == 2\nERROR tests/test_c.py\n1 failed",
                &["tests/test_a.py::test_b[1-2]", "tests/test_c.py"],
            ),
            (
                "FAIL: test_b (tests.test_a.Case.test_b)\nERROR: test_c (tests.Case)",
                &["tests.Case.test_c", "tests.test_a.Case.test_b"],
            ),
            ("test tests::a ... FAILED\ntest tests::b ... ok", &["tests::a"]),
            ("        FAIL [   0.010s] (1/3) mine::it tests::a", &["mine::it tests::a"]),
            ("     SIGABRT [   0.010s] mine tests::b", &["mine tests::b"]),
            (
                "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/case (0.00s)\nFAIL\tx.org/p [build failed]",
                &["TestA", "TestA/case", "x.org/p (build)"],
            ),
            ("  \u{25cf} cart \u{203a} adds up\n", &["cart > adds up"]),
            (" FAIL  src/a.test.ts > cart > adds up", &["src/a.test.ts > cart > adds up"]),
            ("  1) cart\n       adds up:\n     AssertionError: 1 == 2\n", &["cart > adds up"]),
            ("ok 1 - a\nnot ok 2 - b\nnot ok 3 - c # todo later", &["b"]),
            (
                "#   Failed test 'adds up'\n#   at t/a.t line 3.\n#   Failed test at t/a.t line 4.\n\
                 #   Failed (later) test 'x'\nt/a.t   (Wstat: 512 (exited 2) Tests: 2 Failed: 2)",
                &["adds up", "t/a.t", "t/a.t line 4"],
            ),
            ("\u{2716} adds up (1.2ms)", &["adds up"]),
            (
                "<testcase classname=\"c.A\" name=\"b\" time=\"1\"><failure/></testcase>\
                 <testcase name=\"d\"/>",
                &["c.A.b"],
            ),
            ("rspec ./spec/a_spec.rb:12 # Cart adds up", &["Cart adds up"]),
            (
                "1) App\\Tests\\CartTest::testAdds\nFailed asserting",
                &["App\\Tests\\CartTest::testAdds"],
            ),
            ("\t  3 - cart_adds (Failed)", &["cart_adds"]),
            (
                "[ERROR] com.x.CartTest.adds -- Time elapsed: 0.01 s <<< FAILURE!",
                &["com.x.CartTest.adds"],
            ),
            ("CartTest > adds() FAILED", &["CartTest > adds()"]),
            ("  Failed Cart.Adds [12 ms]", &["Cart.Adds"]),
            ("error: expected one of `;`\nmake: *** [Makefile:3: test] Error 1", &[]),
        ];
        for (output, expected) in cases {
            assert_eq!(tests(output), *expected, "{output}");
        }
    }

    /// Perl's `prove` prints the duration in its own words, and counts tests in its list at the end.
    #[test]
    fn what_prove_counts_and_measures_is_no_failure() {
        let prove = |got: &str, ran: u32, time: &str| {
            let output = format!(
                "\n#   Failed test 'adds up'\n#   at t/a.t line 3.\n#          got: '{got}'\n\
                 #     expected: '5'\n# Looks like you failed 1 test of {ran}.\nt/a.t .. \n\
                 Dubious, test returned 1 (wstat 256, 0x100)\nFailed 1/{ran} subtests \n\n\
                 Test Summary Report\n-------------------\n\
                 t/a.t (Wstat: 256 (exited 1) Tests: {ran} Failed: 1)\n  Failed test:  1\n\
                 Files=1, Tests={ran},  {time} wallclock secs ( 0.0{time} usr  0.0{time} sys +  0.0{time} \
                 cusr  0.0{time} csys =  0.1{time} CPU)\nResult: FAIL\n"
            );
            CheckFailures::from_output(output.as_bytes(), "")
        };
        assert!(prove("4", 2, "1").are_within(&prove("4", 1, "0")));
        assert!(!prove("3", 1, "0").are_within(&prove("4", 1, "0")));
        let text = |time: &str| {
            let line =
                format!("no plan\nFiles=1,  {time} wallclock secs ( 0.{time} usr = 0.{time} CPU)");
            CheckFailures::from_output(line.as_bytes(), "")
        };
        assert_eq!(text("1"), text("2"));
    }

    /// Another value in the same message is another failure; another place or duration is not.
    #[test]
    fn failures_are_the_same_by_their_tests_and_values() {
        let pytest = |line: u32, got: &str, passed: u32, time: &str| {
            format!(
                "    def test_login():\n>       assert add(2, 3) == 5\nE       assert {got} == 5\n\
                 tests/test_a.py:{line}: AssertionError\n\
                 FAILED tests/test_a.py::test_login - assert {got} == 5\n\
                 ===== 1 failed, {passed} passed in {time} ====="
            )
        };
        let of = |text: &str| CheckFailures::from_output(text.as_bytes(), "/w/t1");
        let base = of(&pytest(3, "-1", 1, "0.02s"));
        assert!(of(&pytest(9, "-1", 4, "0.11s")).are_within(&base));
        assert!(!of(&pytest(3, "6", 1, "0.02s")).are_within(&base));
        // Without names, the whole text counts.
        let plain = of("at /w/t1/check.sh:3: expected 5, got -1 after 12ms (12:30:01)");
        assert!(plain.are_within(&of("at ./check.sh:7: expected 5, got -1 after 9ms (12:31:44)")));
        assert!(!plain.are_within(&of("at ./check.sh:3: expected 5, got 6 after 12ms (12:30:01)")));
        assert!(!plain.are_within(&CheckFailures::default()));
    }

    /// The remaining failures of a red base are its own; another test or another value is not.
    #[test]
    fn some_of_the_failures_of_a_base_are_within_it() {
        let go = |tests: &[(&str, u32)]| {
            let lines = tests.iter().map(|(test, got)| {
                format!("--- FAIL: {test} (0.00s)\n    calc_test.go:8: {test}: got {got}, want 6\n")
            });
            CheckFailures::from_output(
                format!("{}FAIL\nFAIL\tx 0.1s\n", lines.collect::<String>()).as_bytes(),
                "",
            )
        };
        let base = go(&[("TestAdd", 1), ("TestMul", 5)]);
        assert!(go(&[("TestMul", 5)]).are_within(&base));
        assert!(!go(&[("TestMul", 7)]).are_within(&base));
        assert!(!go(&[("TestMul", 5), ("TestSub", 1)]).are_within(&base));
        assert!(!base.are_within(&go(&[("TestMul", 5)])));
        assert!(!CheckFailures::default().are_within(&base));
    }

    #[test]
    fn a_goal_is_about_a_test_when_it_holds_the_words_of_its_name() {
        let failures =
            |test: &str| CheckFailures::from_output(format!("not ok 1 - {test}").as_bytes(), "");
        let cases = [
            ("test_login", "make the login test pass", true),
            ("test_login", "make test_login pass", true),
            ("tests/test_auth.py::test_login_twice", "fix the login", false),
            ("TestLoginTwice", "The check that one can login twice fails", true),
            ("test_add", "add a farewell", false),
            ("test_login", "add a dark mode", false),
            ("test", "make the test pass", false),
        ];
        for (test, goal, expected) in cases {
            assert_eq!(failures(test).are_named_in(goal), expected, "{test}: {goal}");
        }
        assert!(!CheckFailures::default().are_named_in("make it green"));
    }

    proptest! {
        #[test]
        fn anything_can_be_read(output in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let read = CheckFailures::from_output(&output, "/w");
            prop_assert!(read.are_within(&CheckFailures::from_output(&output, "/w")));
        }
    }
}
