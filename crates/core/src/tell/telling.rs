//! Selection of the line of an output that says most about why a check failed.

/// Prefixes of lines that runners print after the failure.
const AFTERWARDS: &[&str] = &[
    "make:",
    "make[",
    "Ran ",
    "FAILED (",
    "npm error",
    "npm ERR!",
    "error: test failed, to rerun",
    "error: could not compile",
    "error: Recipe",
    "note: run with",
];
/// Words of a line that reports a failure.
const WRONG: &[&str] =
    &["error", "assert", "expected", "panicked", "exception", "mismatch", "not ok", "fail"];

/// Returns the last line that reports a failure, or else the last one that is not a trailer.
pub(super) fn telling_line(output: &str) -> Option<&str> {
    let lines = output.lines().map(str::trim).rev();
    let mut telling = lines.filter(|line| {
        line.contains(char::is_alphanumeric)
            && !AFTERWARDS.iter().any(|start| line.starts_with(start))
    });
    let says_wrong = |line: &&str| {
        let line = line.to_lowercase();
        WRONG.iter().any(|word| line.contains(word))
    };
    telling.clone().find(says_wrong).or_else(|| telling.next())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
