//! Recognition of the failure reports of test runners.

use memchr::memmem::find;

/// Returns whether a test runner reports a failure anywhere in the output.
pub(in super::super) fn reports_failure(plain: &[u8]) -> bool {
    plain.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).any(|line| {
        !line.is_empty()
            && !names_failed_script(line)
            && (opens_as_runner(line)
                || closes_as_runner(line)
                || has_runner_mark(line)
                || counts_failures(line))
    })
}

/// Returns whether a script of checks only says which of its scripts failed: `FAIL checks/lint.sh`.
pub(super) fn names_failed_script(line: &[u8]) -> bool {
    let name = [b"FAIL ".as_slice(), b"FAIL: ", b"FAILED ", b"FAILED: "]
        .iter()
        .find_map(|sign| line.trim_ascii().strip_prefix(*sign));
    name.is_some_and(|name| {
        !name.contains(&b' ') && (name.ends_with(b".sh") || name.ends_with(b".bash"))
    })
}

/// Returns whether a line begins as only those of a test runner do.
fn opens_as_runner(line: &[u8]) -> bool {
    const OPENINGS: &[&[u8]] = &[
        // pytest, unittest
        b"E   ",
        b"FAILED ",
        b"FAILED (",
        // cargo, nextest
        b"test result: FAILED",
        b"error: test failed, to rerun",
        b"error: test run failed",
        b"TIMEOUT [",
        b"FAIL [",
        b"SIGSEGV [",
        b"SIGABRT [",
        // go
        b"--- FAIL",
        b"panic: test timed out",
        // jest, vitest, TAP, node
        b"FAIL ",
        b"not ok ",
        b"*  ",
        // rspec, minitest, phpunit
        b"Failure/Error:",
        b"rspec ./",
        b"FAILURES!",
        b"ERRORS!",
        // ctest, gtest, doctest, catch
        b"The following tests FAILED",
        b"Errors while running CTest",
        b"[  FAILED  ]",
        b"[doctest]",
        // surefire, gradle, dotnet, dart, prove, julia
        b"[ERROR] Tests run:",
        b"There were failing tests",
        b"Test Run Failed",
        b"Failed!  - Failed:",
        b"Some tests failed",
        b"Failed test ",
        b"# Failed test ",
        b"Result: FAIL",
        b"Test Failed at ",
    ];
    OPENINGS.iter().any(|opening| opening.first() == line.first() && line.starts_with(opening))
        && !is_not_built(line)
}

/// Returns whether no test was run, as in `FAIL shop [build failed]`.
fn is_not_built(line: &[u8]) -> bool {
    line.ends_with(b"[build failed]")
        || line.ends_with(b"[setup failed]")
        || line.starts_with(b"FAILED - RETRYING")
}

/// Returns whether a line ends as only those of a test runner do.
fn closes_as_runner(line: &[u8]) -> bool {
    const CLOSINGS: &[&[u8]] = &[
        b" ... FAILED", b" --- FAILED", b" ... FAIL", b" ... ERROR", b") FAILED", b"<<< FAILURE!",
        b"<<< ERROR!", b"*** FAILED ***", b"| FAIL |", b" (FAILED - 1)",
    ];
    // `ClientTest > answers 500 FAILED`, but not `> Task :test FAILED`.
    let named = line.ends_with(b" FAILED") && find(line, b" > ").is_some() && line[0] != b'>';
    named || CLOSINGS.iter().any(|closing| line.ends_with(closing))
}

/// Returns whether a line has a mark that only test runners print.
fn has_runner_mark(line: &[u8]) -> bool {
    const MARKS: &[&[u8]] = &[
        b" stdout ----", b" stderr ----", b"short test summary info", b"= FAILURES =",
        b"= ERRORS =", b"+ Timeout +", b"- Captured ", b"***Failed", b"***Timeout",
        b"***Exception", b"Failed Tests", b"Failed Suites", b"Unhandled Errors",
        b"There are test failures", b"\"Action\":\"fail\"",
    ];
    MARKS.iter().any(|mark| find(line, mark).is_some())
}

/// Returns whether a line counts failures: `2 failed, 1 passed in 0.1s`, `3 examples, 1 failure`, `# fail 1`,
/// `Failures: 1`.
fn counts_failures(line: &[u8]) -> bool {
    const WORDS_MAX: usize = 40;
    const AFTER: &[&[u8]] = &[b"failed", b"failing", b"failure", b"failures"];
    const BEFORE: &[&[u8]] = &[b"fail", b"failed", b"failures", b"errors"];
    const COUNTED: &[&[u8]] = &[
        b"Executed", b"passed", b"passing", b"test", b"tests", b"Tests", b"spec", b"specs",
        b"example", b"examples", b"total", b"skipped", b"assertions", b"runs", b"in",
        b"Assertions", b"scenario", b"scenarios", b"completed", b"Passed", b"run", b"pass",
    ];
    let words = line.split(|b| !b.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let (mut before, mut previous): (&[u8], &[u8]) = (b"", b"");
    let mut failures = false;
    let mut tests = false;
    let mut seen = 0;
    for word in words.take(WORDS_MAX) {
        let is = |known: &&[u8]| word.eq_ignore_ascii_case(known);
        let was = |known: &&[u8]| previous.eq_ignore_ascii_case(known);
        let counted =
            is_some_number(previous) || (is_some_number(before) && previous.starts_with(b"test"));
        failures |= counted && AFTER.iter().any(is);
        failures |= is_some_number(word) && BEFORE.iter().any(was);
        tests |= COUNTED.contains(&word);
        (before, previous) = (previous, word);
        seen += 1;
    }
    // Mocha and node print the count alone on a line.
    failures && (tests || (seen == 2 && find(line, b"fail").is_some()))
}

fn is_some_number(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_digit) && word.iter().any(|b| *b != b'0')
}
