//! The failed tests of a red check, and whether two red checks fail in the same way.
//!
//! [`CheckFailures::from_output`] extracts the names of failed tests from the output of a test runner (`runners.rs` is
//! the table) and the lines that state the failure: those in the section of a failed test (`sections.rs`), and
//! those with a word for an expected or actual value. Parts that vary from run to run are masked (`steady.rs`).
//! Numbers in a message stay: another value is another failure. If the runner names no test, the whole output
//! counts, without the progress of build tools (`progress.rs`).

mod excerpt;
mod progress;
mod runners;
mod sections;
mod steady;
mod totals;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::signature::plain_text;
pub use excerpt::excerpt_lines;
use progress::is_progress;
use sections::SectionReader;
pub(crate) use steady::place_file;
use steady::steady_line;
pub use totals::{reports_failed_tests, tests_run};

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
        let text = split_tags(&text);
        let mut sections = SectionReader::new(&tests);
        let states = |line: &&str| {
            let is_message = sections.read_line(line);
            if tests.is_empty() { !is_progress(line) } else { is_message || states_a_value(line) }
        };
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

    /// Returns whether a person's text is about one of the failed tests.
    pub fn are_named_in(&self, text: &str) -> bool {
        self.tests.iter().any(|test| is_test_named_in(test, text))
    }
}

/// Returns whether a person's text is about the test: it contains the name, or it mentions tests and contains
/// every word of the name.
pub fn is_test_named_in(test: &str, said: &str) -> bool {
    let leaf = test.rsplit([':', '.', '>', '/', '\\', '#']).next().unwrap_or(test).trim();
    if leaf.contains('_') && said.contains(leaf) {
        return true;
    }
    let words: BTreeSet<String> = split_words(said).collect();
    let mut own = split_words(leaf).filter(|word| !is_filler(word)).peekable();
    words.iter().any(|word| is_about_tests(word))
        && own.peek().is_some()
        && own.all(|word| words.contains(&word))
}

/// Puts the elements of `JUnit` XML into lines of their own: a report may be a single line.
fn split_tags(text: &str) -> Cow<'_, str> {
    if text.contains("<testcase ") {
        // The end of a message is no part of it.
        Cow::Owned(
            text.replace("><", ">\n<")
                .replace("</failure", "\n</failure")
                .replace("</error", "\n</error"),
        )
    } else {
        Cow::Borrowed(text)
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
    "undefined", "cannot", "could not", "unexpected", "missing", "diff", "panic:",
];

/// Returns whether a line of a run with named tests states the failure. Progress, totals and lists of tests
/// change whenever a test is added, and carry no information about a failure.
fn states_a_value(line: &str) -> bool {
    let line = line.trim_start();
    if is_summary(line) || line.starts_with("<testsuite") || line.starts_with("=== ") {
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
            ("1 items had failures:\n   1 of   2 in calc.add\n***Test Failed***", &["calc.add"]),
            ("  1) Failure:\nCartTest#test_sum [test/cart_test.rb:5]:", &["CartTest#test_sum"]),
            ("  1) test adds (CartTest)\n     test/cart_test.exs:5", &["test adds (CartTest)"]),
            ("[  FAILED  ] Cart.Adds (0 ms)\n[  FAILED  ] 1 test, listed below:", &["Cart.Adds"]),
            ("(fail) cart > adds [0.12ms]", &["cart > adds"]),
            ("error: 'cart.test.adds' failed: expected 5, found 6", &["cart.test.adds"]),
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

    /// Values that stand in lines of their own count as well.
    #[test]
    fn another_value_below_a_failed_test_is_another_failure() {
        let doctest = |got: &str| {
            format!(
                "File \"calc.py\", line 4, in calc.add\nFailed example:\n    add(2, 3)\nExpected:\n    5\n\
                 Got:\n    {got}\n****\n1 items had failures:\n   1 of   2 in calc.add\n"
            )
        };
        let googletest = |got: &str| {
            format!(
                "calc_test.cc:5: Failure\nExpected equality of these values:\n  add(2, 3)\n    Which is: \
                 {got}\n  5\n[  FAILED  ] Calc.Adds (0 ms)\n"
            )
        };
        let exunit = |got: &str| {
            format!(
                "  1) test adds (CalcTest)\n     left:  {got}\n     right: 5\n\nFinished in 0.03 s\n"
            )
        };
        let kinds: [&dyn Fn(&str) -> String; 3] = [&doctest, &googletest, &exunit];
        for output in kinds {
            let of = |got: &str| CheckFailures::from_output(output(got).as_bytes(), "");
            assert!(!of("-1").tests.is_empty(), "{}", output("-1"));
            assert!(of("-1").are_within(&of("-1")), "{}", output("-1"));
            assert!(!of("6").are_within(&of("-1")), "{}", output("6"));
        }
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

    /// What a tool built, fetched or waited for is no failure: an unchanged compile error is the same one.
    #[test]
    fn progress_of_a_build_does_not_make_another_failure() {
        let cargo = |progress: &str, error: &str| {
            let output = format!(
                "{progress}error[E0308]: {error}\n --> src/lib.rs:3:5\n  |\n3 |     \"four\"\n  |     ^^^^^^\n\n\
                 error: could not compile `shop` (lib) due to 1 previous error\n"
            );
            CheckFailures::from_output(output.as_bytes(), "/w")
        };
        let first = "    Updating crates.io index\n  Downloaded x v1.0.0\n   Compiling x v1.0.0\n   \
                     Compiling shop v0.1.0 (/w)\n";
        let later = "    Blocking waiting for file lock on build directory\n   Compiling shop v0.1.0 (/w)\n\
                     warning: build failed, waiting for other jobs to finish...\n";
        let base = cargo(first, "mismatched types");
        assert!(cargo(later, "mismatched types").are_within(&base));
        assert!(!cargo(later, "cannot find value").are_within(&base));
    }

    /// Outputs of runs of the same tree: `~` stands for what varies by itself, `@` for a value of a free message.
    const RUNS: &[(&str, &str)] = &[
        (
            "pytest",
            "=== test session starts ===\ncollected 2 items\n\ntests/test_a.py F.   [100%]\n\
             ____ test_add ____\n\ntmp_path = PosixPath('/tmp/pytest-of-u/pytest-~/test_add0')\n\n\
             \x20   def test_add():\n>       assert ok, 'sum was @'\nE       AssertionError: sum was @\n\
             E       assert <shop.Cart object at 0x7f3a12~4>\n\ntests/test_a.py:8: AssertionError\n\
             FAILED tests/test_a.py::test_add - AssertionError: sum was @\n=== 1 failed, 1 passed in 0.~s ===\n",
        ),
        (
            "unittest",
            "F.\n======\nFAIL: test_add (tests.test_a.Adding.test_add)\n------\n\
             Traceback (most recent call last):\n  File \"/w/tests/test_a.py\", line ~, in test_add\n\
             \x20   self.fail(msg)\nAssertionError: sum was @\n\n------\nRan 2 tests in 0.00~s\n\n\
             FAILED (failures=1)\n",
        ),
        (
            "cargo test",
            "running 2 tests\ntest tests::ok ... ok\ntest tests::adds ... FAILED\n\nfailures:\n\n\
             ---- tests::adds stdout ----\nlistening on port ~\n\
             thread 'tests::adds' (12~) panicked at src/lib.rs:~:9:\nsum was @\n\
             note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\n\
             failures:\n    tests::adds\n\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; finished in 0.0~s\n\n\
             error: test failed, to rerun pass `--lib`\n",
        ),
        (
            "nextest",
            "        PASS [   0.00~s] (1/2) shop tests::ok\n        FAIL [   0.01~s] (2/2) shop tests::adds\n\
             \x20 stderr \u{2500}\u{2500}\u{2500}\n\n    thread 'tests::adds' (45~) panicked at src/lib.rs:8:9:\n\
             \x20   sum was @\n    note: run with `RUST_BACKTRACE=1` environment variable\n\n\
             \x20 Cancelling due to test failure\n     Summary [   0.01~s] 2 tests run: 1 passed, 1 failed\n\
             \x20       FAIL [   0.01~s] (2/2) shop tests::adds\n",
        ),
        (
            "go test",
            "--- FAIL: TestAdd (0.0~s)\n    calc_test.go:~: Add(2,3) is @, should be 5\n\
             \x20   calc_test.go:9: after 1~ms at 127.0.0.1:4312~\nFAIL\nexit status 1\n\
             FAIL\texample.com/shop\t0.00~s\nFAIL\n",
        ),
        (
            "go test -v",
            "=== RUN   TestOk\n    calc_test.go:3: fine ~\n--- PASS: TestOk (0.00s)\n=== RUN   TestAdd\n\
             \x20   calc_test.go:8: Add(2,3) is @, should be 5\n--- FAIL: TestAdd (0.0~s)\nFAIL\n\
             FAIL\texample.com/shop\t0.00~s\n",
        ),
        (
            "go panic",
            "--- FAIL: TestAdd (0.00s)\npanic: sum was @ [recovered]\n\tpanic: sum was @\n\n\
             goroutine ~ [running]:\ntesting.tRunner.func1.2({0x5~a, 0xc0001})\n\
             \t/usr/lib/go/src/testing/testing.go:15~\nFAIL\texample.com/shop\t0.00~s\n",
        ),
        (
            "jest",
            "FAIL ./cart.test.js\n  cart\n    \u{2715} adds up (~ ms)\n    \u{2713} is empty (1 ms)\n\n\
             \x20 \u{25cf} cart \u{203a} adds up\n\n    sum was @\n\n      ~1 |   test('adds up', () => {\n\
             \x20   > 8 |     throw new Error(said)\n        |           ^\n\n\
             \x20     at Object.<anonymous> (cart.test.js:~:11)\n\n\
             Tests:       1 failed, 1 passed, 2 total\nTime:        0.~1 s\nRan all test suites.\n",
        ),
        (
            "vitest",
            " \u{276f} src/cart.test.ts (2 tests | 1 failed) ~ms\n\n FAIL  src/cart.test.ts > cart > adds up\n\
             the cart is off\nsum was @\n \u{276f} src/cart.test.ts:~:20\n      6|   test('x')\n\n\
             \u{23af}\u{23af}\u{23af}[1/1]\u{23af}\n\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)\n\
             \x20  Start at  12:30:0~\n   Duration  30~ms\n",
        ),
        (
            "mocha",
            "  cart\n    1) adds up\n    \u{2714} is empty (~ms)\n\n  1 passing (~ms)\n  1 failing\n\n\
             \x20 1) cart\n       adds up:\n     off by one\n     sum was @\n\
             \x20     at Context.<anonymous> (test/cart.js:~:13)\n",
        ),
        (
            "tap",
            "TAP version 14\nnot ok 1 - adds up\n# sum was @\n  ---\n  duration_ms: 0.~\n\
             \x20 location: 'file:///w/cart.test.mjs:~:1'\n  found: @\n  ...\nok 2 - is empty\n  ---\n\
             \x20 duration_ms: 1.~\n  ...\n1..2\n# tests 2\n# pass 1\n# fail 1\n# duration_ms 5.~\n",
        ),
        (
            "junit xml",
            "<?xml version=\"1.0\"?><testsuites><testsuite name=\"a\" tests=\"2\" time=\"0.~\" \
             timestamp=\"2026-11-16T12:30:0~\"><testcase classname=\"c.A\" name=\"ok\" time=\"0.~\"/>\
             <testcase classname=\"c.A\" name=\"adds\" time=\"0.~\"><failure message=\"off\">\nsum was @\n\
             </failure></testcase></testsuite></testsuites>\n",
        ),
        (
            "rspec",
            "Failures:\n\n  1) Cart adds up\n     Failure/Error: raise said\n\n     RuntimeError:\n\
             \x20      sum was @\n     # ./spec/cart_spec.rb:~:in `block'\n\nFinished in 0.0~ seconds\n\
             2 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/cart_spec.rb:3 # Cart adds up\n\n\
             Randomized with seed 12~\n",
        ),
    ];

    /// Two runs of the same code are equal, and another value in a free message is another failure.
    #[test]
    fn a_free_message_counts_and_what_varies_by_itself_does_not() {
        for (runner, output) in RUNS {
            let run = |varying: &str, value: &str| {
                let output = output.replace('~', varying).replace('@', value);
                CheckFailures::from_output(output.as_bytes(), "/w")
            };
            let base = run("3", "-1");
            assert!(!base.tests.is_empty(), "{runner}");
            assert_eq!(run("7", "-1"), base, "{runner}: the same code");
            assert!(!run("3", "6").are_within(&base), "{runner}: another value");
            assert!(run("3", "-1").are_within(&base), "{runner}");
        }
    }

    /// The order of tests does not matter, and neither do tests that were added and pass.
    #[test]
    fn order_and_tests_that_pass_do_not_matter() {
        let red = "--- FAIL: TestA (0.00s)\n    a_test.go:8: A is 1\n";
        let other = "--- FAIL: TestB (0.00s)\n    a_test.go:9: B is 2\n";
        let of = |output: &str| CheckFailures::from_output(output.as_bytes(), "");
        assert_eq!(of(&format!("{red}{other}FAIL\n")), of(&format!("{other}{red}FAIL\n")));
        let passing = "=== RUN   TestC\n    a_test.go:30: C is 3\n--- PASS: TestC (0.00s)\n";
        assert!(of(&format!("{passing}{red}FAIL\n")).are_within(&of(red)));
        // The end of the run may follow any test.
        let first = "not ok 1 - a\n# a is 1\nok 2 - b\n# finished at 1763500001.12 in 0.2 s\n";
        let last = "ok 1 - b\nnot ok 2 - a\n# a is 1\n# finished at 1763500004.57 in 0.1 s\n";
        assert_eq!(of(first), of(last));
        let tap = "not ok 1 - a\n# a is 1\n";
        assert!(of(&format!("{tap}ok 2 - b\n# b is 5\n1..2\n")).are_within(&of(tap)));
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
