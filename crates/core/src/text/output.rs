//! Lines of foreign output that say most: the program that is missing, the reason of a failed push, the failure of
//! a check.

use crate::failing::{is_summary, place_file};

/// Messages of shells and tools about a missing program, after or before its name.
const AFTER_PROGRAM: &[&str] = &[
    ": there is no such program", ": command not found", ": not found",
    ": No such file or directory",
];
const BEFORE_PROGRAM: &[&str] = &["command not found: ", "Unknown command: "];

/// Returns the missing program named in the last such line of an output.
pub(crate) fn missing_program(output: &str) -> Option<&str> {
    output.lines().rev().find_map(|line| program_in_line(line.trim_end()))
}

fn program_in_line(line: &str) -> Option<&str> {
    let before = BEFORE_PROGRAM.iter().find_map(|words| Some(line.split_once(words)?.1));
    let after = || AFTER_PROGRAM.iter().find_map(|words| line.strip_suffix(words));
    // `sh: 1: frobnicate: not found`: the shell and the line number precede the name.
    let named = before.or_else(|| after()?.rsplit(": ").next())?;
    let name = named.trim_matches(|c: char| c.is_whitespace() || "'\"‘’`".contains(c));
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then_some(name)
}

/// Prefixes of lines without a reason.
const NO_REASON: &[&str] = &["failed to push some refs", "To ", "Done", "See the "];

/// Returns the reason of a failed push in git's own words: the line that reports the rejection, as git writes
/// it for people, after the remote's message; otherwise the first informative line.
pub fn push_refusal(output: &str) -> Option<String> {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let beginning =
        |prefix: &'static str| lines().find_map(move |line| text_after_prefix(line, prefix));
    let is_rejected =
        |line: &&str| line.contains("[rejected]") || line.contains("[remote rejected]");
    if let Some(line) = lines().find(is_rejected) {
        let rejected = render_for_people(line).unwrap_or_else(|| line.to_owned());
        return Some(match beginning("remote: ").or_else(|| beginning("error: ")) {
            Some(said) => format!("{said}; {rejected}"),
            None => rejected,
        });
    }
    let reason = beginning("fatal: ")
        .or_else(|| beginning("remote: "))
        .or_else(|| beginning("error: "))
        .or_else(|| beginning("hint: "))
        .or_else(|| lines().next_back());
    reason.map(str::to_owned)
}

/// Returns whether git reports that the remote has commits that are not here.
pub(crate) fn is_rejected_push(output: &str) -> bool {
    const REASONS: [&str; 3] = ["(fetch first)", "(non-fast-forward)", "Updates were rejected"];
    REASONS.iter().any(|reason| output.contains(reason))
}

/// Converts a line of `git push --porcelain` (`!`, the two names and the reason, separated by tabs) to the
/// form that people know: `! [rejected] main -> main (fetch first)`.
fn render_for_people(line: &str) -> Option<String> {
    let (names, said) = line.strip_prefix('!')?.trim_start().split_once(char::is_whitespace)?;
    let (from, to) = names.split_once(':')?;
    let short = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    let (tag, why) = said.trim_start().split_once(']')?;
    Some(format!("! {tag}] {} -> {}{why}", short(from), short(to)))
}

/// Returns the text after one of git's prefixes, if it is informative.
fn text_after_prefix<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let said = line.strip_prefix(prefix)?.trim();
    let tells = !said.is_empty() && !NO_REASON.iter().any(|words| said.starts_with(words));
    tells.then_some(said)
}

/// Prefixes of lines that runners print after the failure.
const AFTERWARDS: &[&str] = &[
    "make:", "make[", "Ran ", "FAILED (", "npm error", "npm ERR!", "error: test failed, to rerun",
    "error: could not compile", "error: Recipe", "note: run with",
];
/// Words of a line that reports a failure.
const FAILURE_WORDS: &[&str] =
    &["error", "assert", "expected", "panicked", "exception", "mismatch", "not ok", "fail"];

/// Returns the first error of the Rust compiler, whose last lines are warnings and summaries.
fn compiler_error(output: &str) -> Option<&str> {
    const SUMMARIES: [&str; 3] =
        ["error: could not compile", "error: aborting due to", "error: test failed"];
    let mut lines = output.lines().map(str::trim);
    let built = output.contains(SUMMARIES[0]) || output.contains(SUMMARIES[1]);
    let is_summary = |line: &str| SUMMARIES.iter().any(|summary| line.starts_with(summary));
    let is_error = |line: &&str| line.starts_with("error[E") || line.starts_with("error: ");
    lines.find(|line| built && is_error(line) && !is_summary(line))
}

/// Returns the first error of a compiler, the last line that reports a failure, or else the last one that is
/// not a trailer.
pub fn telling_line(output: &str) -> Option<&str> {
    if let Some(error) = compiler_error(output) {
        return Some(error);
    }
    let lines = output.lines().map(str::trim).rev();
    let mut telling = lines.filter(|line| {
        line.contains(char::is_alphanumeric)
            && !AFTERWARDS.iter().any(|start| line.starts_with(start))
    });
    let says_wrong = |line: &&str| {
        let line = line.to_lowercase();
        FAILURE_WORDS.iter().any(|word| line.contains(word))
    };
    telling.clone().find(says_wrong).or_else(|| telling.next())
}

/// Words of a line that states why a test failed.
const REASON_WORDS: &[&str] = &[
    "error:", "exception:", "assert", "expected", "panicked", "mismatch", "got ", "want ", "!=",
    " == ",
];
/// Prefixes of lines that repeat a part of the reason: fields of a report, and the code of the test.
const REASON_PARTS: &[&str] = &["expected:", "code:", "name:", "expect(", "+ actual"];

/// Returns the last line that states why a test failed, without the names of the failed tests and without its
/// place.
pub(crate) fn failure_reason<'a>(output: &'a str, tests: &[String]) -> Option<&'a str> {
    let lines = output.lines().map(str::trim).rev();
    let own = lines.filter(|line| {
        !is_summary(line) && !AFTERWARDS.iter().any(|start| line.starts_with(start))
    });
    own.map(|line| after_place(after_names(after_mark(line), tests))).find(|line| {
        let is_cut = line.ends_with([',', ':', '{', '(']);
        let lower = line.to_lowercase();
        let is_part = REASON_PARTS.iter().any(|start| lower.starts_with(start));
        let is_sentence = line.split_whitespace().nth(1).is_some();
        is_sentence && !is_cut && !is_part && REASON_WORDS.iter().any(|word| lower.contains(word))
    })
}

/// Returns a line without the mark that a runner puts before the failure: `E   assert 1 == 2`.
fn after_mark(line: &str) -> &str {
    let marks = ["E  ", "# ", "> ", "[ERROR] "];
    marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim_start()
}

/// Returns the text after the last test name in a line: `FAILED tests/a.py::test_b - assert 1 == 2`.
fn after_names<'a>(line: &'a str, tests: &[String]) -> &'a str {
    let end = |test: &String| line.rfind(test.as_str()).map(|at| at + test.len());
    let named = tests.iter().filter(|test| !test.is_empty()).filter_map(end).max();
    named.map_or(line, |end| line[end..].trim_matches([' ', '-', ':', '\'', ')']))
}

/// Returns the text after a leading place: `calc_test.go:6: got 4, want 5`.
fn after_place(line: &str) -> &str {
    match line.split_once(": ") {
        Some((place, said)) if place_file(place).is_some() => said.trim_start(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Code;
    use crate::text::{Obstacle, describe_obstacle};

    #[test]
    fn shells_name_the_program_that_is_missing() {
        for (output, name) in [
            ("tool.sh: 1: frobnicate: not found\n", Some("frobnicate")),
            ("sh: line 1: frobnicate: command not found", Some("frobnicate")),
            ("zsh: command not found: frobnicate", Some("frobnicate")),
            ("env: ‘frobnicate’: No such file or directory", Some("frobnicate")),
            (
                "make: ./scripts/x.sh: No such file or directory\nmake: *** [t] Error 127",
                Some("./scripts/x.sh"),
            ),
            ("the page was not found", None),
            ("", None),
        ] {
            assert_eq!(missing_program(output), name, "{output}");
        }
    }

    #[test]
    fn the_line_with_the_reason_is_told() {
        for (output, reason) in [
            (
                "error: failed to push some refs to 'x'\nhint: Updates were rejected because the remote \
                 contains work that you do not\nhint: have locally.",
                Some("Updates were rejected because the remote contains work that you do not"),
            ),
            (
                "fatal: unable to access 'http://127.0.0.1:1/': Failed to connect\n",
                Some("unable to access 'http://127.0.0.1:1/': Failed to connect"),
            ),
            (
                "remote: main is protected\nTo /srv/shop\n ! [remote rejected] a -> main (pre-receive \
                 hook declined)\nerror: failed to push some refs to '/srv/shop'",
                Some(
                    "main is protected; ! [remote rejected] a -> main (pre-receive hook declined)",
                ),
            ),
            (
                "To /srv/shop\n!\trefs/heads/unstuck/b1:refs/heads/unstuck/b1\t[rejected] (fetch \
                 first)\nDone\nerror: failed to push some refs to '/srv/shop'\nhint: Updates were",
                Some("! [rejected] unstuck/b1 -> unstuck/b1 (fetch first)"),
            ),
            ("remote: \nremote: main is protected\n", Some("main is protected")),
            ("no tests, no push\n", Some("no tests, no push")),
            (" \n", None),
        ] {
            assert_eq!(push_refusal(output).as_deref(), reason, "{output}");
        }
    }

    #[test]
    fn the_line_that_says_what_is_wrong_is_found() {
        let unittest = "  File \"t.py\", line 5\nAssertionError: -1 != 5\n\n-----\nRan 2 tests in \
                        0.001s\n\nFAILED (failures=1)\nmake: *** [Makefile:2: test] Error 1\n";
        assert_eq!(telling_line(unittest), Some("AssertionError: -1 != 5"));
        assert_eq!(
            telling_line("lint: 3 long lines\nmake: *** Error 1"),
            Some("lint: 3 long lines")
        );
        assert_eq!(telling_line("expected 3, got 4\nsee the log\n"), Some("expected 3, got 4"));
        assert_eq!(telling_line("make: *** Error 1\n-----\n"), None);
        assert_eq!(telling_line(""), None);
        let compiler = "warning: unused variable: `x`\n --> src/lib.rs:1:5\n\nerror[E0308]: mismatched \
                        types\n --> src/lib.rs:3:5\n\nerror: could not compile `shop` (lib) due to 1 \
                        previous error; 1 warning emitted\nwarning: build failed, waiting for other \
                        jobs to finish...\n";
        assert_eq!(telling_line(compiler), Some("error[E0308]: mismatched types"));
    }

    #[test]
    fn the_reason_is_told_without_the_name_of_its_test() {
        let pytest = ">       assert add(2, 3) == 5\nE       assert -1 == 5\ntests/test_a.py:3: \
                      AssertionError\nFAILED tests/test_a.py::test_b - assert -1 == 5\n=== 1 failed, 3 \
                      passed in 0.02s ===\n";
        let cargo = "thread 'tests::adds' panicked at src/lib.rs:12:9:\nassertion `left == right` failed\n  \
                     left: 4\n right: 5\nnote: run with `RUST_BACKTRACE=1`\n\nfailures:\n    \
                     tests::adds\n\ntest result: FAILED. 0 passed; 1 failed\nerror: test failed, to \
                     rerun pass `--lib`\n";
        let node = "\u{2716} adds up (0.6ms)\n  AssertionError [ERR_ASSERTION]: Expected values to be \
                    strictly equal:\n\n  4 !== 5\n\n    code: 'ERR_ASSERTION',\n    actual: 4,\n    \
                    expected: 5,\n    operator: 'strictEqual'\n";
        for (output, test, reason) in [
            (
                "FAIL: test_b (t.Case.test_b)\nAssertionError: 5 != 9\nRan 2 tests in 0.001s\n\nFAILED \
                 (failures=1)\n",
                "t.Case.test_b",
                Some("AssertionError: 5 != 9"),
            ),
            (pytest, "tests/test_a.py::test_b", Some("assert -1 == 5")),
            (cargo, "tests::adds", Some("assertion `left == right` failed")),
            (
                "--- FAIL: TestAdd (0.00s)\n    calc_test.go:6: got 4, want 5\nFAIL\nFAIL\tx 0.002s\n",
                "TestAdd",
                Some("got 4, want 5"),
            ),
            (node, "adds up", Some("4 !== 5")),
            ("not ok 1 - adds up\n", "adds up", None),
            ("FAIL: test_b (t.Case.test_b)\nmake: *** Error 1\n", "t.Case.test_b", None),
            ("", "t", None),
        ] {
            assert_eq!(failure_reason(output, &[test.to_owned()]), reason, "{output}");
        }
    }

    #[test]
    fn a_push_that_git_does_not_accept_is_no_conflict_of_lines() {
        let rejected =
            " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs";
        let conflict = "CONFLICT (content): Merge conflict in a.rs";
        assert!(is_rejected_push(rejected) && !is_rejected_push(conflict));
        let said = |rejected_push| {
            let about = Obstacle { rejected_push, ..Obstacle::default() };
            describe_obstacle(Code::GitConflict, &about)
        };
        assert!(said(true).ends_with("so git did not accept the push."), "{}", said(true));
        assert!(said(false).contains("the same lines"), "{}", said(false));
    }
}
