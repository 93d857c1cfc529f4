//! Normalization of test output: removes parts that differ from run to run, namely places, durations, times,
//! addresses and names of temporary files. Everything else stays, numbers in particular.

/// Words of lines that state an expected or an actual value, or an error.
const STATES: &[&str] = &[
    "assert",
    "expected",
    "received",
    "actual",
    "got",
    "want",
    "left:",
    "right:",
    "panicked",
    "error",
    "exception",
    "failed:",
    "failure",
    "!=",
    "==",
    "not equal",
    "raise",
    "mismatch",
    "undefined",
    "cannot",
    "could not",
    "unexpected",
    "missing",
    "diff",
];

/// Returns whether a line of a run with named tests states the failure. Progress, totals and lists of tests
/// change whenever a test is added, and carry no information about a failure.
pub(super) fn states_a_value(line: &str) -> bool {
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
fn is_summary(line: &str) -> bool {
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
pub(super) fn steady_line(line: &str) -> String {
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
    "s",
    "ms",
    "us",
    "ns",
    "sec",
    "secs",
    "second",
    "seconds",
    "minutes",
    "wallclock",
    "usr",
    "sys",
    "cusr",
    "csys",
    "CPU",
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
fn place_file(word: &str) -> Option<&str> {
    let (file, place) = word.split_once(':')?;
    let is_file = file.contains('.') || file.contains('/');
    let mut numbers = place.trim_end_matches(':').split(':');
    let all = numbers.all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    (is_file && all).then_some(file)
}
