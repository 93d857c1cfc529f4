//! Tests that stand in the files of the work: modules for tests and examples in comments of Rust, tests of
//! Zig, examples of Python and Elixir with what they return.
//!
//! Such a file is no file of tests, so it is not put back. A check that failed before the work has to pass with
//! the tests as they were, which shows in a run with them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Fault;

use super::baseline::Baseline;
use super::check::CheckOutcome;
use super::checks::{GateChecks, GateReport};
use crate::regular_file::read_regular;
use crate::workspace::{ChangeKind, Shell, Workspace};

/// Maximum size of a file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;

impl GateChecks {
    /// Runs the green checks that failed at the base once more, with the tests inside changed files as they were
    /// at the base. Returns the fault of one in which a test fails that failed before.
    pub(super) async fn confirm_with_base_tests(
        &self,
        workspace: &Workspace,
        base: &Baseline,
        shell: &Shell,
        seen: &GateReport,
    ) -> Result<Option<Fault>, Fault> {
        let was_red = |command: &str| {
            let red = base.red.get(command).filter(|_| seen.green.iter().any(|of| of == command));
            red.filter(|red| !red.failures.tests.is_empty())
        };
        let checks: Vec<_> = self
            .list_checks()
            .filter_map(|check| was_red(check.command).map(|red| (check, red)))
            .collect();
        if checks.is_empty() {
            return Ok(None);
        }
        let restored = find_changed_tests(workspace).await?;
        if restored.is_empty() {
            return Ok(None);
        }
        let paths: Vec<PathBuf> = restored.keys().cloned().collect();
        let folder = workspace.project_folder();
        for (check, red) in checks {
            let again = check.run_once(&folder, shell);
            let again = Box::pin(workspace.run_with_texts(&restored, again)).await?;
            if let CheckOutcome::Red(still) = again
                && !without_lines(&still.failures.tests)
                    .is_disjoint(&without_lines(&red.failures.tests))
            {
                return Ok(Some(check.base_tests_fault(&paths, &still)));
            }
        }
        Ok(None)
    }
}

/// Returns the changed files in which tests differ from the base, with the text that has the tests of the base.
async fn find_changed_tests(workspace: &Workspace) -> Result<BTreeMap<PathBuf, String>, Fault> {
    let mut found = BTreeMap::new();
    for change in workspace.list_changes().await? {
        let place = workspace.directory().join(&change.path);
        if change.kind == ChangeKind::Added || !holds_tests(&change.path) {
            continue;
        }
        let Ok(now) = read_regular(&place, FILE_BYTES_MAX) else { continue };
        let base = workspace.read_base_file(&change.path).await?.map(String::from_utf8);
        let (Some(Ok(base)), Ok(now)) = (base, String::from_utf8(now)) else { continue };
        let text = restore_inline_tests(&change.path, &base, &now);
        found.extend(text.map(|text| (change.path, text)));
    }
    Ok(found)
}

/// Returns the names of tests without the lines of their files, which move with the code above them:
/// `src/lib.rs - add (line 3)`.
fn without_lines(tests: &BTreeSet<String>) -> BTreeSet<&str> {
    tests.iter().map(|test| test.split(" (line ").next().unwrap_or(test)).collect()
}

/// Returns whether a file is of a kind that holds tests beside the code.
fn holds_tests(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("rs" | "zig" | "py" | "ex" | "exs" | "md" | "rst" | "txt"))
}

/// A test in a file: its lines, and the text that identifies it among the tests of the file.
struct InlineTest {
    lines: Range<usize>,
    name: String,
}

/// Returns the text of a changed file with the tests that its base has, if one of them was changed.
fn restore_inline_tests(path: &Path, base: &str, now: &str) -> Option<String> {
    let ending = path.extension().and_then(|ending| ending.to_str())?;
    let find = |lines: &[&str]| match ending {
        "rs" => find_rust_tests(lines),
        "zig" => find_zig_tests(lines),
        "py" | "ex" | "exs" | "md" | "rst" | "txt" => find_examples(lines),
        _ => Vec::new(),
    };
    let base_lines: Vec<&str> = base.split_inclusive('\n').collect();
    let lines: Vec<&str> = now.split_inclusive('\n').collect();
    let known = find(&base_lines);
    let found = find(&lines);
    let same_number = known.len() == found.len();
    let mut by_name: BTreeMap<&str, Vec<&InlineTest>> = BTreeMap::new();
    for test in known.iter().rev() {
        by_name.entry(&test.name).or_default().push(test);
    }
    let mut restored = String::with_capacity(now.len());
    let mut copied = 0;
    let mut is_changed = false;
    for (at, test) in found.iter().enumerate() {
        let before = if same_number {
            known.get(at)
        } else {
            by_name.get_mut(&*test.name).and_then(Vec::pop)
        };
        let Some(before) = before else { continue };
        let before = base_lines[before.lines.clone()].concat();
        is_changed |= before != lines[test.lines.clone()].concat();
        restored.extend(lines[copied..test.lines.start].iter().copied());
        restored.push_str(&before);
        copied = test.lines.end;
    }
    restored.extend(lines[copied..].iter().copied());
    is_changed.then_some(restored)
}

/// Returns the number of spaces and tabs at the beginning of a line.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Returns the end of a block that begins in the line `start`: behind the first later line with a closing
/// brace that is indented as deep.
fn find_block_end(lines: &[&str], start: usize) -> Option<usize> {
    let depth = indentation(lines[start]);
    let closes = |line: &&str| indentation(line) == depth && line.trim_start().starts_with('}');
    let end = lines[start + 1..].iter().position(closes)?;
    Some(start + 1 + end + 1)
}

/// Finds modules and functions below an attribute for tests, and examples in comments.
fn find_rust_tests(lines: &[&str]) -> Vec<InlineTest> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim();
        let is_attribute = line.starts_with("#[") && line.contains("test");
        let test = if is_attribute { find_rust_item(lines, at) } else { None };
        let test = test.or_else(|| find_comment_example(lines, at));
        at = test.as_ref().map_or(at + 1, |test| test.lines.end);
        found.extend(test);
    }
    found
}

/// Finds the module or function below the attributes that begin in the line `start`.
fn find_rust_item(lines: &[&str], start: usize) -> Option<InlineTest> {
    let is_attribute = |line: &&str| line.trim_start().starts_with("#[");
    let head = start + lines[start..].iter().position(|line| !is_attribute(line))?;
    let words: Vec<&str> = lines[head].split_whitespace().collect();
    let kind = words.iter().position(|word| matches!(*word, "mod" | "fn"))?;
    let name = words.get(kind + 1)?.split(['(', '<', '{']).next()?.to_owned();
    let end = find_block_end(lines, head)?;
    Some(InlineTest { lines: start..end, name })
}

/// Finds the code between the fences of a comment for readers that begins in the line `start`.
fn find_comment_example(lines: &[&str], start: usize) -> Option<InlineTest> {
    let comment = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
            .map(|rest| rest.trim().to_owned())
    };
    let is_fence = |line: &&str| comment(line).is_some_and(|text| text.starts_with("```"));
    if !is_fence(&lines[start]) {
        return None;
    }
    let end = start + 1 + lines[start + 1..].iter().position(is_fence)?;
    let name = lines.get(start + 1).and_then(|line| comment(line))?;
    Some(InlineTest { lines: start..end + 1, name })
}

/// Finds blocks of the form `test "adds" {`.
fn find_zig_tests(lines: &[&str]) -> Vec<InlineTest> {
    let starts = (0..lines.len()).filter(|at| {
        let line = lines[*at].trim();
        line.starts_with("test ") && line.ends_with('{')
    });
    starts
        .filter_map(|at| {
            let end = find_block_end(lines, at)?;
            Some(InlineTest { lines: at..end, name: lines[at].trim().to_owned() })
        })
        .collect()
}

/// Finds examples of an interactive session, each with the lines that it has to return.
fn find_examples(lines: &[&str]) -> Vec<InlineTest> {
    let is_first = |line: &str| {
        let line = line.trim_start();
        line.starts_with(">>>") || line.starts_with("iex>") || line.starts_with("iex(")
    };
    let goes_on = |line: &str| {
        let line = line.trim_start();
        line.starts_with("... ")
            || line.trim_end() == "..."
            || line.starts_with("...>")
            || line.starts_with("...(")
    };
    let ends = |line: &str| {
        let line = line.trim();
        line.is_empty() || ["\"\"\"", "'''", "```"].iter().any(|quote| line.starts_with(quote))
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if !is_first(lines[at]) {
            at += 1;
            continue;
        }
        let later = at + 1..lines.len();
        let source_end = later.clone().find(|line| !goes_on(lines[*line])).unwrap_or(lines.len());
        let end =
            (source_end..lines.len()).find(|line| ends(lines[*line]) || is_first(lines[*line]));
        let end = end.unwrap_or(lines.len());
        let name =
            lines[at].trim().split("# doctest:").next().unwrap_or_default().trim().to_owned();
        found.push(InlineTest { lines: at..end, name });
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a text with this code and this expected sum.
    type TextOf<'a> = &'a dyn Fn(&str, i32) -> String;

    fn restore(file: &str, base: &str, now: &str) -> Option<String> {
        restore_inline_tests(Path::new(file), base, now)
    }

    // B15: a bent test is restored, and the work beside it stays.
    #[test]
    fn tests_of_the_base_are_put_into_the_changed_file() {
        let rust = |code: &str, sum: i32| {
            format!(
                "fn add(a: i32, b: i32) -> i32 {{\n    {code}\n}}\n\n#[cfg(test)]\nmod tests {{\n    use super::*;\n\n    \
                 #[test]\n    fn adds() {{\n        assert_eq!(add(1, 2), {sum});\n    }}\n}}\n"
            )
        };
        let zig = |code: &str, sum: i32| {
            format!(
                "fn add() i32 {{\n    {code}\n}}\n\ntest \"adds\" {{\n    try expect(add() == {sum});\n}}\n"
            )
        };
        let python = |code: &str, sum: i32| {
            format!(
                "def add(a, b):\n    \"\"\"Adds.\n\n    >>> add(1, 2)\n    {sum}\n    \"\"\"\n    {code}\n"
            )
        };
        let comment = |code: &str, sum: i32| {
            format!(
                "/// Adds.\n///\n/// ```\n/// assert_eq!(add(1, 2), {sum});\n/// ```\nfn add() {{ {code} }}\n"
            )
        };
        let elixir =
            |code: &str, sum: i32| format!("  iex> Calc.add(1, 2)\n  {sum}\n  \"\"\"\n  {code}\n");
        let kinds: [(&str, TextOf<'_>); 5] = [
            ("src/lib.rs", &rust),
            ("src/calc.zig", &zig),
            ("calc.py", &python),
            ("src/add.rs", &comment),
            ("lib/calc.ex", &elixir),
        ];
        for (file, text) in kinds {
            let base = text("a - b", 3);
            assert_eq!(restore(file, &base, &text("a * b", 2)), Some(text("a * b", 3)), "{file}");
            assert_eq!(restore(file, &base, &text("a + b", 3)), None, "{file}");
            assert_eq!(restore("calc.c", &base, &text("a * b", 2)), None, "{file}");
        }
    }

    #[test]
    fn tests_are_found_by_their_names_where_their_number_differs() {
        let base = "fn a() {}\n#[test]\nfn one() {\n    x(1);\n}\n";
        let now =
            "#[test]\nfn new() {\n    y();\n}\nfn a() {}\n#[test]\nfn one() {\n    x(2);\n}\n";
        assert_eq!(restore("a.rs", base, now), Some(now.replace("x(2)", "x(1)")));
        let base = ">>> one()\n1\n\n>>> two()\n2\n";
        let now = ">>> one()  # doctest: +SKIP\n1\n\n>>> zero()\n0\n\n>>> two()\n3\n";
        let expected = ">>> one()\n1\n\n>>> zero()\n0\n\n>>> two()\n2\n";
        assert_eq!(restore("README.md", base, now).as_deref(), Some(expected));
        assert_eq!(
            restore("README.md", base, ">>> two()\n2\n"),
            None,
            "what is gone is not put back"
        );
        assert_eq!(restore("README.md", "", "text\n"), None);
    }
}
