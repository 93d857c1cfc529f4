//! The part of an output that is read first: its last lines, after those about the failed tests if these are
//! further up. Runners that report every test end with lines that say nothing about a failure.

use super::runners::{failed_tests, names_failed_test};
use super::sections::SectionReader;
use crate::signature::plain_text;

/// The line in the place of those that are left out.
const LEFT_OUT: &str = "[…]";
/// The part of the lines that shows the end of the output.
const END_PART: usize = 4;

/// Returns at most `lines_max` lines of the output of a check: the last ones, or those about failed tests and
/// the end of the output.
pub fn excerpt_lines(output: &str, lines_max: usize) -> Vec<&str> {
    let lines: Vec<&str> = output.lines().collect();
    let end = &lines[lines.len().saturating_sub(lines_max)..];
    if lines.len() <= lines_max {
        return lines;
    }
    let plain = plain_text(output.as_bytes());
    let tests = failed_tests(&plain);
    let mut sections = SectionReader::new(&tests);
    let told: Vec<bool> = plain.lines().map(|line| sections.read_line(line)).collect();
    let is_at_end = told.iter().rev().take(lines_max).any(|told| *told);
    // Names of tests alone say less than the end of the output.
    let is_told = told.iter().any(|told| *told);
    if tests.is_empty() || told.len() != lines.len() || is_at_end || !is_told {
        return end.to_vec();
    }
    let rest = lines_max / END_PART;
    let named = plain.lines().map(names_failed_test);
    let about = told.iter().zip(named).enumerate();
    let about = about.filter(|(_, (told, named))| **told || *named).map(|(at, _)| at);
    let about: Vec<usize> = about.take(lines_max - rest - 1).collect();
    let rest = lines.len() - (lines_max - 1 - about.len());
    let ahead = about.into_iter().filter(|at| *at < rest);
    let mut excerpt: Vec<&str> = ahead.map(|at| lines[at]).collect();
    excerpt.push(LEFT_OUT);
    excerpt.extend_from_slice(&lines[rest..]);
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    // B15: what failed is shown, however much passed after it.
    #[test]
    fn a_failure_far_from_the_end_is_shown() {
        let go = |after: usize| {
            let test = |n| format!("=== RUN   TestB{n}\n--- PASS: TestB{n} (0.00s)\n");
            let passed: Vec<String> = (0..after).map(test).collect();
            format!(
                "=== RUN   TestA\n    a_test.go:5: A() = 1, want 2\n--- FAIL: TestA (0.00s)\n{}PASS\nok  \tx/b\t0.01s\nFAIL\n",
                passed.concat()
            )
        };
        let long = go(40);
        let shown = excerpt_lines(&long, 20);
        assert!(shown.len() <= 20, "{shown:?}");
        assert!(shown.contains(&"    a_test.go:5: A() = 1, want 2"), "{shown:?}");
        assert!(
            shown.contains(&"--- FAIL: TestA (0.00s)") && shown.contains(&LEFT_OUT),
            "{shown:?}"
        );
        assert_eq!(shown.last(), Some(&"FAIL"));
        // What is at the end anyway stays as it is.
        let short = go(4);
        assert_eq!(excerpt_lines(&short, 20), short.lines().collect::<Vec<_>>());
        // The lines that are left show the end.
        assert_eq!(shown.len(), 20, "{shown:?}");
        let test = |name: &str| {
            format!(
                "{line}\nFAIL: {name} (t.T.{name})\n{dash}\nTraceback (most recent call last):\n  File \"t.py\", \
                 line 9, in {name}\n    self.assertEqual(add(), 5)\nAssertionError: -1 != 5\n\n",
                line = "=".repeat(70),
                dash = "-".repeat(70)
            )
        };
        let two = format!(
            "{}{}{}Ran 2 tests in 0.01s\n\nFAILED\n",
            test("test_a"),
            test("test_b"),
            test("test_c")
        );
        assert_eq!(excerpt_lines(&two, 20), two.lines().skip(7).collect::<Vec<_>>());
        let plain: Vec<String> = (0..30).map(|n| format!("line {n}")).collect();
        assert_eq!(excerpt_lines(&plain.join("\n"), 20).first(), Some(&"line 10"));
        assert_eq!(excerpt_lines("", 20), Vec::<&str>::new());
    }
}
