//! The table of test runners, one row each, with the way each names a failed test.

use std::collections::BTreeSet;

use super::TESTS_MAX;

/// The way a runner's names are found: in single lines, or over several lines.
enum TestNaming {
    Line(fn(&str) -> Option<String>),
    Text(fn(&str, &mut BTreeSet<String>)),
}

/// All known runners. An output is read by each of them: a check may call several.
const RUNNERS: &[(&str, TestNaming)] = &[
    ("pytest", TestNaming::Line(parse_pytest)),
    ("unittest", TestNaming::Line(parse_unittest)),
    ("cargo test", TestNaming::Line(parse_cargo_test)),
    ("nextest", TestNaming::Line(parse_nextest)),
    ("go test", TestNaming::Line(parse_go_test)),
    ("jest", TestNaming::Line(parse_jest)),
    ("vitest", TestNaming::Line(parse_vitest)),
    ("mocha", TestNaming::Text(parse_mocha)),
    ("tap", TestNaming::Line(parse_tap)),
    ("prove", TestNaming::Line(parse_prove)),
    ("node --test", TestNaming::Line(parse_node_test)),
    ("junit xml", TestNaming::Text(parse_junit_xml)),
    ("rspec", TestNaming::Line(parse_rspec)),
    ("phpunit", TestNaming::Line(parse_phpunit)),
    ("ctest", TestNaming::Line(parse_ctest)),
    ("surefire", TestNaming::Line(parse_surefire)),
    ("gradle", TestNaming::Line(parse_gradle)),
    ("dotnet test", TestNaming::Line(parse_dotnet)),
    ("doctest", TestNaming::Line(parse_doctest)),
    ("minitest", TestNaming::Line(parse_minitest)),
    ("exunit", TestNaming::Line(parse_exunit)),
    ("googletest", TestNaming::Line(parse_googletest)),
    ("bun test", TestNaming::Line(parse_bun)),
    ("zig test", TestNaming::Line(parse_zig)),
];

/// Returns the failed tests that an output names.
pub(super) fn failed_tests(text: &str) -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for (_, naming) in RUNNERS {
        match naming {
            TestNaming::Line(name) => tests.extend(text.lines().filter_map(name).take(TESTS_MAX)),
            TestNaming::Text(collect) => collect(text, &mut tests),
        }
    }
    while tests.len() > TESTS_MAX {
        tests.pop_last();
    }
    tests
}

/// Returns whether a line names a failed test.
pub(super) fn names_failed_test(line: &str) -> bool {
    RUNNERS.iter().any(|(_, naming)| match naming {
        TestNaming::Line(name) => name(line).is_some(),
        TestNaming::Text(_) => false,
    })
}

/// Parses `FAILED tests/test_a.py::test_b - AssertionError`, `ERROR tests/test_a.py`.
fn parse_pytest(line: &str) -> Option<String> {
    let rest = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
    let name = rest.split(" - ").next()?.trim();
    (name.contains(".py") && !name.contains(": ")).then(|| name.to_owned())
}

/// Parses `FAIL: test_b (tests.test_a.Case.test_b)`.
fn parse_unittest(line: &str) -> Option<String> {
    let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?;
    let (name, case) = rest.split_once(" (")?;
    let case = case.strip_suffix(')').or_else(|| case.split(')').next())?;
    let is_name = !name.is_empty() && !name.contains(' ') && !case.contains(' ');
    is_name.then(|| if case.ends_with(name) { case.to_owned() } else { format!("{case}.{name}") })
}

/// Parses `test tests::a ... FAILED`.
fn parse_cargo_test(line: &str) -> Option<String> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.split(" - should panic").next().unwrap_or(name).to_owned())
}

/// Parses `    FAIL [   0.010s] crate::bin tests::a`, also with `SIGABRT` or `TIMEOUT` in its place.
fn parse_nextest(line: &str) -> Option<String> {
    let line = line.trim_start();
    let rest = line
        .strip_prefix("FAIL [")
        .or_else(|| line.strip_prefix("TIMEOUT ["))
        .or_else(|| line.strip_prefix("SIG").and_then(|rest| rest.split_once(" [").map(|s| s.1)))?;
    let name = rest.split_once(']')?.1.trim();
    let name = name.strip_prefix('(').map_or(name, |n| n.split_once(')').map_or(n, |s| s.1)).trim();
    (name.contains(' ')).then(|| name.to_owned())
}

/// Parses `--- FAIL: TestA/case (0.00s)`, or `FAIL`, a tab and `example.com/pkg [build failed]`.
fn parse_go_test(line: &str) -> Option<String> {
    if let Some(rest) = line.trim_start().strip_prefix("--- FAIL: ") {
        return rest.split(" (").next().map(str::to_owned);
    }
    let package = line.strip_prefix("FAIL\t")?.strip_suffix(" [build failed]")?;
    Some(format!("{package} (build)"))
}

/// Parses `  * suite > test` (a bullet in the original).
pub(super) fn parse_jest(line: &str) -> Option<String> {
    let name = line.trim_start().strip_prefix("* ")?.trim();
    let is_test = line.starts_with("  ") && (name.contains(" > ") || !name.contains(':'));
    (is_test && !name.is_empty() && name != "Console").then(|| name.to_owned())
}

/// Parses ` FAIL  src/a.test.ts > suite > test`.
pub(super) fn parse_vitest(line: &str) -> Option<String> {
    let name = line.trim_start().strip_prefix("FAIL ")?.trim();
    let is_test = name.contains(" > ") || is_script(name.split(' ').next().unwrap_or(name));
    is_test.then(|| name.to_owned())
}

fn is_script(file: &str) -> bool {
    [".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".vue"]
        .iter()
        .any(|end| file.ends_with(end))
}

/// Parses `  1) suite` and, deeper, `test:` in the list at the end of a run.
fn parse_mocha(text: &str, tests: &mut BTreeSet<String>) {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(suite) = strip_number(line.trim_start()) else { continue };
        if !line.starts_with("  ") {
            continue;
        }
        let mut parts = vec![suite.trim_end_matches(':').to_owned()];
        let mut ended = suite.ends_with(':');
        while let Some(next) = lines.peek().copied().filter(|_| !ended && parts.len() < 8) {
            if !next.starts_with("     ") || next.trim().is_empty() {
                break;
            }
            ended = next.trim_end().ends_with(':');
            parts.push(next.trim().trim_end_matches(':').to_owned());
            lines.next();
        }
        // Minitest's list has the kind in this place, and the name below it.
        let is_kind = parts.len() == 1 && matches!(&*parts[0], "Failure" | "Error");
        if ended && !is_kind {
            tests.insert(parts.join(" > "));
        }
    }
}

/// Returns the rest of `12) …`.
fn strip_number(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(") ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| rest.trim_end())
}

/// Returns whether a line begins as `12) …`.
pub(super) fn is_numbered(line: &str) -> bool {
    strip_number(line).is_some()
}

/// Parses `not ok 3 - name`; tests marked todo or skip are not red.
pub(super) fn parse_tap(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix("not ok ")?;
    let lower = rest.to_ascii_lowercase();
    if lower.contains("# todo") || lower.contains("# skip") {
        return None;
    }
    let name = rest.trim_start_matches(|first: char| first.is_ascii_digit()).trim_start();
    let name = name.strip_prefix("- ").unwrap_or(name).split(" # ").next()?.trim();
    Some(if name.is_empty() { format!("test {rest}") } else { name.to_owned() })
}

/// Parses `#   Failed test 'name'`, or `#   Failed test at t/a.t line 3.` for a test without a name, and in
/// the list at the end `t/a.t (Wstat: 256 (exited 1) Tests: 1 Failed: 1)`.
pub(super) fn parse_prove(line: &str) -> Option<String> {
    if let Some((file, _)) = line.split_once(" (Wstat: ") {
        let file = file.trim();
        return (!file.is_empty() && !file.contains(' ')).then(|| file.to_owned());
    }
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("Failed test ")?;
    match rest.strip_prefix('\'') {
        Some(named) => Some(named.split_once('\'')?.0.to_owned()),
        None => Some(rest.strip_prefix("at ")?.trim_end_matches('.').to_owned()),
    }
}

/// Parses `X name (1.2ms)` (a cross in the original).
fn parse_node_test(line: &str) -> Option<String> {
    let name = line.trim_start().strip_prefix("X ")?.trim();
    let (name, time) = name.rsplit_once(" (")?;
    time.ends_with("ms)").then(|| name.to_owned())
}

/// Parses `<testcase classname="a" name="b"><failure …`.
fn parse_junit_xml(text: &str, tests: &mut BTreeSet<String>) {
    for case in text.split("<testcase ").skip(1).take(TESTS_MAX) {
        let Some(end) = case.find('>') else { continue };
        let (head, body) = case.split_at(end);
        if head.ends_with('/') {
            continue;
        }
        let body = body.split("</testcase>").next().unwrap_or(body);
        if body.contains("<failure") || body.contains("<error") {
            let name = xml_attribute(head, "name").unwrap_or("?");
            let class = xml_attribute(head, "classname");
            tests.insert(class.map_or_else(|| name.to_owned(), |class| format!("{class}.{name}")));
        }
    }
}

fn xml_attribute<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let found = head.match_indices(name).find(|(at, _)| {
        let starts = *at == 0 || head[..*at].ends_with(char::is_whitespace);
        starts && head[at + name.len()..].starts_with("=\"")
    })?;
    head[found.0 + name.len() + 2..].split('"').next()
}

/// Parses `rspec ./spec/a_spec.rb:12 # A does b`.
fn parse_rspec(line: &str) -> Option<String> {
    let rest = line.strip_prefix("rspec ")?;
    let (file, name) = rest.split_once(" # ")?;
    file.contains("_spec.rb").then(|| name.trim().to_owned())
}

/// Parses `1) App\Tests\ATest::testB`.
fn parse_phpunit(line: &str) -> Option<String> {
    let name = strip_number(line)?;
    let name = name.split(" with data set").next()?;
    (name.contains("::") && !name.contains(' ')).then(|| name.to_owned())
}

/// Parses `3 - name (Failed)` after a tab.
fn parse_ctest(line: &str) -> Option<String> {
    let line = line.trim();
    let (number, rest) = line.split_once(" - ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let (name, how) = rest.rsplit_once(" (")?;
    let is_red =
        how.starts_with("Failed") || how.starts_with("Timeout") || how.contains("Exception");
    (is_number && is_red).then(|| name.to_owned())
}

/// Parses `[ERROR] com.example.ATest.b -- Time elapsed: 0.01 s <<< FAILURE!`.
fn parse_surefire(line: &str) -> Option<String> {
    let rest = line.strip_prefix("[ERROR] ")?;
    if !rest.contains("<<< FAILURE!") && !rest.contains("<<< ERROR!") {
        return None;
    }
    let name = rest.split([' ', '(']).find(|word| !word.is_empty())?;
    (name != "Tests").then(|| name.to_owned())
}

/// Parses `ATest > b() FAILED`.
fn parse_gradle(line: &str) -> Option<String> {
    let name = line.trim_end().strip_suffix(" FAILED")?;
    (name.contains(" > ") && !name.starts_with(' ')).then(|| name.to_owned())
}

/// Parses `  Failed Name.Space.Test [12 ms]`.
pub(super) fn parse_dotnet(line: &str) -> Option<String> {
    let name = line.strip_prefix("  Failed ")?;
    let (name, time) = name.rsplit_once(" [")?;
    time.ends_with("s]").then(|| name.to_owned())
}

/// Parses `   1 of   2 in calc.add` in the list at the end of Python's doctest.
fn parse_doctest(line: &str) -> Option<String> {
    let (failed, rest) = line.trim_start().split_once(" of ")?;
    let (all, name) = rest.trim_start().split_once(" in ")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.trim_end();
    (is_number(failed) && is_number(all) && !name.contains(' ')).then(|| name.to_owned())
}

/// Parses `CartTest#test_sum [test/cart_test.rb:5]:`.
fn parse_minitest(line: &str) -> Option<String> {
    let (name, place) = line.trim_end().strip_suffix("]:")?.split_once(" [")?;
    (name.contains("#test_") && !name.contains(' ') && place.contains(".rb:"))
        .then(|| name.to_owned())
}

/// Parses `  1) test adds (CalcTest)`.
pub(super) fn parse_exunit(line: &str) -> Option<String> {
    let name = strip_number(line.trim_start())?;
    let is_test = name.starts_with("test ") || name.starts_with("doctest ");
    (is_test && name.ends_with(')')).then(|| name.to_owned())
}

/// Parses `[  FAILED  ] Calc.Adds (0 ms)`.
fn parse_googletest(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix("[  FAILED  ] ")?;
    let name = rest.split([' ', ',']).next()?;
    name.contains('.').then(|| name.to_owned())
}

/// Parses `(fail) cart > adds [0.12ms]`.
fn parse_bun(line: &str) -> Option<String> {
    let name = line.trim_start().strip_prefix("(fail) ")?;
    Some(name.rsplit_once(" [").map_or(name, |(name, _)| name).trim_end().to_owned())
}

/// Parses `error: 'calc.test.adds' failed: ...`.
fn parse_zig(line: &str) -> Option<String> {
    let (name, rest) = line.trim_start().strip_prefix("error: '")?.split_once('\'')?;
    (name.contains("test.") && rest.trim_start().starts_with("failed")).then(|| name.to_owned())
}
