//! The number of tests that an output reports as run, and of those that failed.

use super::TESTS_MAX;
use super::runners::{parse_prove, parse_tap};

/// What a runner counts in the summary of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TestCounts {
    /// Tests that passed or failed.
    run: u64,
    failed: u64,
}

impl TestCounts {
    const fn add(self, other: Self) -> Self {
        Self { run: self.run + other.run, failed: self.failed + other.failed }
    }
}

/// Returns the number of tests that an output reports as run, passed or failed. Skipped, ignored and
/// deselected tests and expected failures do not count.
///
/// Only runners are read whose report is the same whether they pass or fail; several runs in one output are
/// summed.
pub fn tests_run(text: &str) -> Option<u64> {
    count_tests(text).map(|counts| counts.run)
}

/// Returns whether the summary of a known runner says that tests failed. Names and words of failures anywhere
/// else in an output do not count.
pub fn reports_failed_tests(text: &str) -> bool {
    let has_plan = text.lines().any(is_tap_plan);
    count_tests(text).is_some_and(|counts| counts.failed > 0)
        || text.lines().any(|line| is_failed_end(line) || has_plan && parse_tap(line).is_some())
}

/// Returns whether a line is the end of a run with failed tests, of a runner that counts nothing in it.
fn is_failed_end(line: &str) -> bool {
    const ENDS: [&str; 8] = [
        "FAILED (failures=",
        "FAILED (errors=",
        "error: test failed, to rerun pass",
        "FAIL\t",
        "Result: FAIL",
        "FAILURES!",
        "ERRORS!",
        "FAILED | ",
    ];
    ENDS.iter().any(|end| line.starts_with(end))
        || line.starts_with("--- FAIL: ")
        || line.contains(" (Wstat: ") && parse_prove(line).is_some()
        || is_failed_gradle(line)
}

/// Parses `3 tests completed, 1 failed`.
fn is_failed_gradle(line: &str) -> bool {
    let counts = line.split_once(" completed, ").filter(|(all, _)| all.contains(" test"));
    counts.is_some_and(|(_, failed)| sum_named_counts(failed, ", ", &["failed"]) > Some(0))
}

/// Parses `1..3`.
fn is_tap_plan(line: &str) -> bool {
    line.trim_end().strip_prefix("1..").is_some_and(|last| parse_count(last).is_some())
}

fn count_tests(text: &str) -> Option<TestCounts> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let runs = lines().filter_map(count_in_line).take(TESTS_MAX).reduce(TestCounts::add);
    let found = [
        runs,
        parse_unittest(text),
        parse_node_test(text),
        parse_mocha(text),
        parse_googletest(text),
        parse_bun(text),
    ];
    found.into_iter().flatten().reduce(TestCounts::add).or_else(|| count_tap(text))
}

fn sum_counts(counts: impl Iterator<Item = u64>) -> Option<u64> {
    counts.reduce(|sum, count| sum + count)
}

/// Reads the runners that report on a single line.
fn count_in_line(line: &str) -> Option<TestCounts> {
    parse_cargo_test(line)
        .or_else(|| parse_nextest(line))
        .or_else(|| parse_pytest(line))
        .or_else(|| parse_jest(line))
        .or_else(|| parse_vitest(line))
        .or_else(|| parse_rspec(line))
        .or_else(|| parse_surefire(line))
        .or_else(|| parse_dotnet(line))
        .or_else(|| parse_ctest(line))
        .or_else(|| parse_phpunit(line))
        .or_else(|| parse_minitest(line))
        .or_else(|| parse_exunit(line))
        .or_else(|| parse_deno(line))
        .or_else(|| parse_zig(line))
        .or_else(|| parse_prove_totals(line))
}

/// Parses `test result: ok. 3 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
fn parse_cargo_test(line: &str) -> Option<TestCounts> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    sum_outcomes(counts, "; ", &["failed"])
}

/// Parses `Summary [   0.010s] 3 tests run: 2 passed, 1 failed, 1 skipped`.
fn parse_nextest(line: &str) -> Option<TestCounts> {
    let (_, rest) = line.strip_prefix("Summary [")?.split_once("] ")?;
    let run = parse_count(rest.split(['/', ' ']).next()?)?;
    let (_, counts) = rest.split_once(" run: ")?;
    let failed = sum_named_counts(counts, ", ", &["failed", "timed out", "exec failed"]);
    Some(TestCounts { run, failed: failed.unwrap_or(0) })
}

/// Parses `== 1 failed, 2 passed, 1 skipped in 0.12s ==`, also without the signs in quiet mode.
fn parse_pytest(line: &str) -> Option<TestCounts> {
    let (counts, time) = line.trim_matches('=').trim().split_once(" in ")?;
    let is_time = time.as_bytes().first().is_some_and(u8::is_ascii_digit) && time.contains('s');
    let parts = || counts.split(", ").map(|part| part.split_once(' '));
    let named = |what: &str| {
        matches!(
            what,
            "passed"
                | "failed"
                | "skipped"
                | "deselected"
                | "xfailed"
                | "xpassed"
                | "warning"
                | "warnings"
                | "error"
                | "errors"
                | "rerun"
        )
    };
    let all =
        parts().all(|part| part.is_some_and(|(n, what)| parse_count(n).is_some() && named(what)));
    if !is_time || !all {
        return None;
    }
    sum_outcomes(counts, ", ", &["failed", "error", "errors"])
}

/// Parses `Tests:       1 failed, 1 skipped, 2 passed, 4 total`.
fn parse_jest(line: &str) -> Option<TestCounts> {
    let counts = line.strip_prefix("Tests:")?.trim();
    counts.ends_with(" total").then_some(())?;
    sum_outcomes(counts, ", ", &["failed"])
}

/// Parses `Tests  1 failed | 2 passed | 1 skipped (4)`.
fn parse_vitest(line: &str) -> Option<TestCounts> {
    let counts = line.strip_prefix("Tests  ")?.trim();
    let (counts, _) = counts.rsplit_once(" (")?;
    sum_outcomes(counts, " | ", &["failed"])
}

/// Parses `3 examples, 1 failure, 1 pending`.
fn parse_rspec(line: &str) -> Option<TestCounts> {
    let of = |words: &[&str]| sum_named_counts(line, ", ", words);
    let all = line.split(", ").next()?.split_once(' ')?;
    if !matches!(all.1, "example" | "examples") || !line.contains(" failure") {
        return None;
    }
    let run = parse_count(all.0)?.saturating_sub(of(&["pending"]).unwrap_or(0));
    Some(TestCounts { run, failed: of(&["failure", "failures"]).unwrap_or(0) })
}

/// Parses `Tests run: 3, Failures: 1, Errors: 0, Skipped: 0`, the sum of the lines that name a class and its time.
fn parse_surefire(line: &str) -> Option<TestCounts> {
    if line.contains("Time elapsed") {
        return None;
    }
    let at = line.find("Tests run: ")?;
    let parts = || line[at..].split([',', ' ']).collect::<Vec<_>>();
    let after = |word: &str| {
        let parts = parts();
        let at = parts.iter().position(|part| *part == word)?;
        parse_count(parts.get(at + 1)?)
    };
    let skipped = after("Skipped:")?;
    let failed = after("Failures:").unwrap_or(0) + after("Errors:").unwrap_or(0);
    Some(TestCounts { run: after("run:")?.saturating_sub(skipped), failed })
}

/// Parses `Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 5 ms`.
fn parse_dotnet(line: &str) -> Option<TestCounts> {
    let counts = line.strip_prefix("Failed!").or_else(|| line.strip_prefix("Passed!"))?;
    let after =
        |word: &str| parse_count(counts.split_once(word)?.1.trim_start().split(',').next()?);
    let failed = after("Failed:")?;
    Some(TestCounts { run: failed + after("Passed:")?, failed })
}

/// Parses `67% tests passed, 1 tests failed out of 3`.
fn parse_ctest(line: &str) -> Option<TestCounts> {
    let (before, all) = line.split_once(" tests failed out of ")?;
    let (_, failed) = before.split_once("% tests passed, ")?;
    Some(TestCounts { run: parse_count(all)?, failed: parse_count(failed)? })
}

/// Parses `Ran 3 tests in 0.001s`, and below it `FAILED (failures=1, skipped=1)` or `OK (skipped=1)`.
fn parse_unittest(text: &str) -> Option<TestCounts> {
    let mut all: Option<TestCounts> = None;
    let mut ran = 0;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Ran ")
            && let Some((count, rest)) = rest.split_once(" test")
            && rest.contains(" in ")
        {
            ran = parse_count(count)?;
            all = Some(all.unwrap_or_default().add(TestCounts { run: ran, failed: 0 }));
        } else if let Some((how, rest)) = line.split_once(" (")
            && matches!(how, "OK" | "FAILED")
            && let Some(sum) = all.as_mut()
        {
            let count = |of: &[&str]| {
                let parts = rest.trim_end_matches(')').split(", ").filter_map(|part| {
                    let (what, count) = part.split_once('=')?;
                    of.contains(&what).then(|| parse_count(count))?
                });
                parts.sum::<u64>()
            };
            sum.run = sum.run.saturating_sub(count(&["skipped", "expected failures"]).min(ran));
            sum.failed += count(&["failures", "errors", "unexpected successes"]);
        }
    }
    all
}

/// Parses `# pass 2` and `# fail 1` of node's runner, with another sign in its human-readable reporter.
fn parse_node_test(text: &str) -> Option<TestCounts> {
    let count = |word: &str| {
        let counts = text.lines().filter_map(|line| {
            let rest = line.trim().strip_prefix(['#', 'i', 'ℹ'])?.strip_prefix(' ')?;
            parse_count(rest.strip_prefix(word)?.strip_prefix(' ')?)
        });
        sum_counts(counts)
    };
    let todo = count("todo").unwrap_or(0);
    let failed = count("fail")?;
    Some(TestCounts { run: (count("pass")? + failed).saturating_sub(todo), failed })
}

/// Parses `2 passing (5ms)` and `1 failing`.
fn parse_mocha(text: &str) -> Option<TestCounts> {
    let count = |word: &str| {
        let counts = text.lines().filter_map(|line| {
            let (count, rest) = line.strip_prefix("  ")?.split_once(' ')?;
            let is_it =
                rest == word || rest.strip_prefix(word).is_some_and(|t| t.starts_with(" ("));
            is_it.then(|| parse_count(count))?
        });
        sum_counts(counts)
    };
    let failed = count("failing").unwrap_or(0);
    Some(TestCounts { run: count("passing")? + failed, failed })
}

/// Parses `OK (3 tests, 3 assertions)` and `Tests: 3, Assertions: 3, Failures: 1, Skipped: 1.`.
fn parse_phpunit(line: &str) -> Option<TestCounts> {
    if let Some(counts) = line.strip_prefix("OK (") {
        let run = parse_count(counts.split_once(" test")?.0)?;
        return counts.contains(" assertion").then_some(TestCounts { run, failed: 0 });
    }
    let counts = line.strip_prefix("Tests: ").filter(|counts| counts.contains("Assertions: "))?;
    let after = |word: &str| {
        let rest = counts.split_once(word)?.1;
        parse_count(rest.split([',', '.']).next()?)
    };
    let failed = ["Failures: ", "Errors: "].into_iter().filter_map(after).sum();
    let left_out: u64 = ["Skipped: ", "Incomplete: "].into_iter().filter_map(after).sum();
    let all = parse_count(counts.split(',').next()?)?;
    Some(TestCounts { run: all.saturating_sub(left_out), failed })
}

/// Parses `3 runs, 3 assertions, 1 failures, 0 errors, 1 skips`, and `tests` in the place of `runs`.
fn parse_minitest(line: &str) -> Option<TestCounts> {
    let of = |words: &[&str]| sum_named_counts(line, ", ", words);
    of(&["assertions"])?;
    let all = of(&["runs", "tests"])?;
    let left_out = of(&["skips", "pendings", "omissions"]).unwrap_or(0);
    let failed = of(&["failures", "errors"])?;
    Some(TestCounts { run: all.saturating_sub(left_out), failed })
}

/// Parses `1 doctest, 3 tests, 1 failure, 1 skipped`.
fn parse_exunit(line: &str) -> Option<TestCounts> {
    let of = |words: &[&str]| sum_named_counts(line, ", ", words);
    let failed = of(&["failure", "failures"])?;
    let all = of(&["test", "tests", "doctest", "doctests", "property", "properties"])?;
    let left_out = of(&["skipped", "excluded"]).unwrap_or(0);
    Some(TestCounts { run: all.saturating_sub(left_out), failed })
}

/// Parses `FAILED | 2 passed | 1 failed (3ms)`.
fn parse_deno(line: &str) -> Option<TestCounts> {
    let counts = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | "))?;
    let (counts, _) = counts.rsplit_once(" (")?;
    sum_outcomes(counts, " | ", &["failed"])
}

/// Parses `All 3 tests passed.` and `2 passed; 1 skipped; 1 failed.`.
fn parse_zig(line: &str) -> Option<TestCounts> {
    if let Some(rest) = line.strip_prefix("All ") {
        let run = parse_count(rest.strip_suffix(" tests passed.")?)?;
        return Some(TestCounts { run, failed: 0 });
    }
    let counts = line.strip_suffix('.').filter(|counts| counts.contains(" skipped; "))?;
    sum_outcomes(counts, "; ", &["failed"])
}

/// Parses `Files=1, Tests=3,  0 wallclock secs`.
fn parse_prove_totals(line: &str) -> Option<TestCounts> {
    let (_, rest) = line.strip_prefix("Files=")?.split_once(", Tests=")?;
    Some(TestCounts { run: parse_count(rest.split(',').next()?)?, failed: 0 })
}

/// Parses `[==========] 3 tests from 1 test suite ran. (0 ms total)` and `[  FAILED  ] 1 test, listed below:`.
fn parse_googletest(text: &str) -> Option<TestCounts> {
    let count = |start: &str, word: &str| {
        let counts = text.lines().filter_map(|line| {
            let rest = line.trim_start().strip_prefix(start)?;
            let (count, rest) = rest.split_once(" test")?;
            rest.contains(word).then(|| parse_count(count))?
        });
        sum_counts(counts)
    };
    let run = count("[==========] ", " ran.")?;
    Some(TestCounts { run, failed: count("[  FAILED  ] ", "listed below").unwrap_or(0) })
}

/// Parses ` 2 pass` and ` 1 fail`, each on a line of its own.
fn parse_bun(text: &str) -> Option<TestCounts> {
    let count = |word: &str| {
        let counts = text.lines().filter_map(|line| {
            let (count, rest) = line.strip_prefix(' ')?.split_once(' ')?;
            (rest.trim_end() == word).then(|| parse_count(count))?
        });
        sum_counts(counts)
    };
    let failed = count("fail")?;
    Some(TestCounts { run: count("pass")? + failed, failed })
}

/// Counts the lines `ok 1 adds` and `not ok 2 adds twice` of TAP below a plan, except those with a directive.
fn count_tap(text: &str) -> Option<TestCounts> {
    if !text.lines().any(is_tap_plan) {
        return None;
    }
    let mut counts = TestCounts::default();
    for line in text.lines() {
        let failed = line.starts_with("not ok ");
        let lower = line.to_ascii_lowercase();
        if (failed || line.starts_with("ok "))
            && !lower.contains("# skip")
            && !lower.contains("# todo")
        {
            counts = counts.add(TestCounts { run: 1, failed: failed.into() });
        }
    }
    Some(counts)
}

/// Returns the counts of tests that passed or failed, where `failed` are the words for failed ones.
fn sum_outcomes(counts: &str, between: &str, failed: &[&str]) -> Option<TestCounts> {
    let passed = sum_named_counts(counts, between, &["passed"]);
    let failed = sum_named_counts(counts, between, failed);
    passed.or(failed)?;
    let failed = failed.unwrap_or(0);
    Some(TestCounts { run: passed.unwrap_or(0) + failed, failed })
}

/// Returns the sum of the counts followed by one of these words.
fn sum_named_counts(counts: &str, between: &str, words: &[&str]) -> Option<u64> {
    let parts = counts.split(between).filter_map(|part| {
        let (count, what) = part.trim().split_once(' ')?;
        words.contains(&what.trim()).then(|| parse_count(count))?
    });
    sum_counts(parts)
}

fn parse_count(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|count| *count < 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the outputs of the table say where a test failed.
    const SAID: [&str; 10] = [
        "1 failed", "1 failing", "(failures=1", "fail 1", "1 failure", "Failures: 1",
        "1 tests failed", "1 test, listed", "1 fail\n", "not ok 2",
    ];

    #[test]
    fn the_tests_that_were_run_are_counted() {
        let cases = [
            (
                "test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                Some(5),
            ),
            ("     Summary [   0.010s] 3 tests run: 2 passed, 1 failed, 1 skipped", Some(3)),
            ("     Summary [   0.010s] 2/3 tests run: 1 passed, 1 failed, 1 skipped", Some(2)),
            ("=========== 1 failed, 2 passed, 1 skipped, 1 xfailed in 0.12s ===========", Some(3)),
            ("1 passed, 1 deselected in 0.01s", Some(1)),
            ("Ran 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)", Some(2)),
            ("Ran 2 tests in 0.000s\n\nOK", Some(2)),
            ("Ran 2 tests in 0.000s\n\nOK (expected failures=1)", Some(1)),
            ("# tests 3\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0", Some(3)),
            ("ℹ tests 2\nℹ pass 1\nℹ fail 0\nℹ skipped 1\nℹ todo 0", Some(1)),
            ("Tests:       1 failed, 1 skipped, 2 passed, 4 total", Some(3)),
            ("      Tests  1 failed | 2 passed | 1 skipped (4)", Some(3)),
            ("  2 passing (5ms)\n  1 pending\n  1 failing", Some(3)),
            ("3 examples, 1 failure, 1 pending", Some(2)),
            ("[INFO] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1", Some(2)),
            (
                "Passed!  - Failed:     0, Passed:     2, Skipped:     1, Total:     3, Duration: 5 ms",
                Some(2),
            ),
            ("67% tests passed, 1 tests failed out of 3", Some(3)),
            (
                "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in a.BTest\n[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0",
                Some(3),
            ),
            ("OK (3 tests, 4 assertions)", Some(3)),
            ("FAILURES!\nTests: 3, Assertions: 3, Failures: 1, Skipped: 1.", Some(2)),
            ("3 runs, 3 assertions, 1 failures, 0 errors, 1 skips", Some(2)),
            ("1 doctest, 3 tests, 1 failure, 1 skipped", Some(3)),
            ("FAILED | 2 passed | 1 failed (3ms)", Some(3)),
            ("All 3 tests passed.", Some(3)),
            ("1 passed; 1 skipped; 1 failed.", Some(2)),
            ("Files=1, Tests=3,  0 wallclock secs", Some(3)),
            ("[==========] 3 tests from 1 test suite ran. (0 ms total)", Some(3)),
            (
                "[==========] 3 tests from 1 test suite ran. (0 ms total)\n[  FAILED  ] 1 test, listed below:",
                Some(3),
            ),
            (" 2 pass\n 1 fail\nRan 3 tests across 1 file. [12.00ms]", Some(3)),
            ("1..3\nok 1 adds\nnot ok 2 adds twice\nok 3 # skip later", Some(2)),
            ("ok  \texample.com/greet\t0.003s", None),
            ("all is well\nbuilt in 3s, 2 files in 1s", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(tests_run(text), expected, "{text:?}");
            let has_failed = SAID.iter().any(|sign| text.contains(sign));
            assert_eq!(reports_failed_tests(text), has_failed, "{text:?}");
        }
    }

    #[test]
    fn a_summary_without_counts_says_that_tests_failed() {
        let red = [
            "FAILED (failures=1)",
            "    tests::adds\n\nerror: test failed, to rerun pass `--lib`",
            "FAIL\nFAIL\texample.com/greet\t0.003s\nFAIL",
            "t/a.t (Wstat: 256 (exited 1) Tests: 1 Failed: 1)\nResult: FAIL",
            "1..2\nok 1 a\nnot ok 2 b",
            "FAILURES!\nTests: 3, Assertions: 3, Failures: 1.",
            "3 tests completed, 1 failed",
            "FAILED | 2 passed | 1 failed (3ms)",
        ];
        for text in red {
            assert!(reports_failed_tests(text), "{text:?}");
        }
        let others = [
            "3",
            "0 failed",
            "FAIL: expected failure, as known\nERROR 500",
            "FAILED tests/test_a.py::test_b - assert 1 == 2",
            "3 uploads failed, 2 tests to go",
            "not ok 2 b",
            "1..2\nnot ok 2 b # todo later",
            "  * adds up\n  * is empty",
            "1 passed in 0.01s",
            "",
        ];
        for text in others {
            assert!(!reports_failed_tests(text), "{text:?}");
        }
    }
}
