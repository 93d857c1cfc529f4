//! Checks that did not run although the program of their command did: `make`, a package script or a shell
//! script whose own program is not there or crashed.
//!
//! Only the words of the starting program count: `make`'s last lines, a shell's `not found`, an interpreter's
//! `No module named`. A test that prints the same words is red, because its runner reports a failure or
//! something else follows.

use super::runners::{names_failed_script, reports_failure};
use crate::signature::clean_output;

/// Why a check did not run, in the words of the program that started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckStop {
    /// A program that a shell, `make` or another starting program did not find.
    Program(String),
    /// A module that `python -m` did not find.
    Module(String),
    /// The signal that ended the program.
    Signal(i32),
}

/// Signals by the name that `make` and `just` print.
const SIGNALS: [(&str, i32); 5] = [
    ("Segmentation fault", 11),
    ("Bus error", 7),
    ("Illegal instruction", 4),
    ("Killed", 9),
    ("Aborted", ABORT),
];
/// The signal by which a program ends itself, also after an assertion that fails.
const ABORT: i32 = 6;
/// A shell adds the signal that ended its command to this.
const SIGNAL_BASE: i32 = 128;
/// Exit code of a shell for a program that does not exist.
const NOT_FOUND: i32 = 127;

/// Beginnings of the lines that a starting program adds after its command failed.
const TRAILERS: [&str; 21] = [
    "npm ERR!", "npm error", "npm warn", "npm notice", "pnpm:", "ELIFECYCLE", "WARN ", "ERR_PNPM",
    "error Command failed", "info Visit", "error: Recipe", "error: script ", "task: Failed to run",
    "ninja: build stopped", "error: recipe", "Lifecycle script", "ERROR: InvocationError",
    "rake aborted!", "Tasks: TOP", "(See full trace", "Command failed with status (",
];

/// Returns why the command of a check did not run, if its output says so and no test reports a failure.
pub fn find_check_stop(output: &[u8]) -> Option<CheckStop> {
    let plain = clean_output(output);
    if reports_failure(&plain) {
        return None;
    }
    let text = String::from_utf8_lossy(&plain);
    let mut lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    // A script of checks writes this line on the other stream, so that it may stand anywhere.
    let count = lines.len();
    lines.retain(|line| !names_failed_script(line.as_bytes()));
    let names_script = lines.len() < count;
    let said = lines.iter().rposition(|line| !is_trailer(line)).map_or(0, |at| at + 1);
    let (said, trailer) = lines.split_at(said);
    if let Some(program) = trailer.iter().find_map(|line| parse_tox(line)) {
        return Some(CheckStop::Program(program));
    }
    let exits: Vec<i32> = trailer.iter().filter_map(|line| parse_exit(line)).collect();
    if let Some(signal) = exits.iter().find_map(|exit| find_signal(*exit)) {
        let is_red = signal == ABORT && names_unmet_condition(&plain);
        return (!is_red).then_some(CheckStop::Signal(signal));
    }
    let last = said.last()?;
    if exits.contains(&NOT_FOUND) {
        return said.iter().rev().find_map(|line| parse_not_found(line)).map(CheckStop::Program);
    }
    // A single word is no proof: a script may have gone on without the program.
    let is_passed_on = names_script || !trailer.is_empty();
    if names_script && said.iter().all(|line| parse_not_found(line).is_some()) {
        return parse_not_found(last).map(CheckStop::Program);
    }
    parse_module(last).map(CheckStop::Module).or_else(|| {
        let program = parse_not_found(last).filter(|_| is_passed_on && is_started_by_tool(last));
        program.map(CheckStop::Program)
    })
}

/// Returns whether a check that ended with a signal is a red test: an assertion of a C program that fails
/// aborts it.
pub fn is_failed_assertion(signal: i32, output: &[u8]) -> bool {
    signal == ABORT && names_unmet_condition(&clean_output(output))
}

/// Returns whether the output of an aborted program says that a condition does not hold. A program that only
/// crashed says nothing of the kind: `double free or corruption (out)`.
fn names_unmet_condition(plain: &[u8]) -> bool {
    const WORDS: [&str; 6] = ["assert", "expect", "fail", "panicked", "mismatch", " got "];
    let text = String::from_utf8_lossy(plain).to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// Returns the program or module without which the script `name` ended with `exit`, if its output says so and
/// no test reports a failure.
pub fn find_missing_of_script(name: &str, exit: i32, output: &[u8]) -> Option<String> {
    match find_check_stop(output) {
        Some(CheckStop::Program(program)) => return Some(program),
        Some(CheckStop::Module(module)) => return Some(format!("the Python module {module}")),
        Some(CheckStop::Signal(_)) => return None,
        None => {}
    }
    let plain = clean_output(output);
    if reports_failure(&plain) {
        return None;
    }
    let text = String::from_utf8_lossy(&plain);
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).rev();
    if exit == NOT_FOUND {
        return lines.find_map(parse_not_found);
    }
    if let Some(program) = text.lines().find_map(parse_hook_program) {
        return Some(program);
    }
    // With another code the script may have gone on, unless these are its last words.
    let last = lines.next()?;
    let is_own =
        last.split(": ").next().is_some_and(|label| label.rsplit('/').next() == Some(name));
    let told = (is_own || is_started_by_tool(last)).then(|| parse_not_found(last)).flatten();
    told.or_else(|| parse_framework(last))
}

/// Returns the Python module that a script imports in vain, if that is its last word.
pub fn find_missing_import(output: &[u8]) -> Option<String> {
    let plain = clean_output(output);
    let text = String::from_utf8_lossy(&plain);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    let named = last.strip_prefix("ModuleNotFoundError: No module named ");
    named.map_or_else(|| parse_module(last), plain_program)
}

/// Parses what the hook of the pre-commit framework says when its program is not there:
/// `` `pre-commit` not found.  Did you forget to activate your virtualenv? ``.
fn parse_framework(line: &str) -> Option<String> {
    let (program, rest) = line.strip_prefix('`')?.split_once("` not found.")?;
    rest.trim_start().starts_with("Did you forget").then(|| plain_program(program)).flatten()
}

/// Parses what the hooks of Git LFS say when their program is not there: `… but 'git-lfs' was not found on your
/// path. …`.
fn parse_hook_program(line: &str) -> Option<String> {
    let (before, _) = line.split_once(" was not found on your path")?;
    plain_program(before.rsplit(' ').next()?)
}

fn find_signal(exit: i32) -> Option<i32> {
    SIGNALS.iter().map(|(_, signal)| *signal).find(|signal| exit == SIGNAL_BASE + signal)
}

fn is_trailer(line: &str) -> bool {
    // pnpm puts thin spaces around its marks.
    let line = &line.replace('\u{2009}', " ");
    let line = line.trim_start();
    let folder = |line: &str| {
        line.contains("]: Leaving directory ") || line.contains("]: Entering directory ")
    };
    if let Some(rest) = strip_make(line) {
        return rest.starts_with("*** ")
            || rest.starts_with("Target ")
            || folder(line)
            || rest.starts_with("Leaving directory ");
    }
    TRAILERS.iter().any(|start| line.starts_with(start))
}

/// Returns the words of `make` after `make: ` or `make[1]: `.
fn strip_make(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("gmake").or_else(|| line.strip_prefix("make"))?;
    let rest = match rest.strip_prefix('[') {
        Some(level) => level.split_once(']').filter(|(level, _)| is_number(level))?.1,
        None => rest,
    };
    rest.strip_prefix(": ")
}

/// Parses the exit code of a command in the last lines of `make`, `just`, `task` and others:
/// `make: *** [Makefile:2: test] Error 127`, `error: Recipe … failed on line 2 with exit code 127`.
fn parse_exit(line: &str) -> Option<i32> {
    let line = line.trim();
    if let Some(said) = strip_make(line).and_then(|rest| rest.strip_prefix("*** [")) {
        let (_, how) = said.rsplit_once("] ")?;
        let how = how.trim_end_matches(" (core dumped)").trim_end_matches(" (ignored)");
        if let Some((_, signal)) = SIGNALS.iter().find(|(name, _)| *name == how) {
            return Some(SIGNAL_BASE + signal);
        }
        return how.strip_prefix("Error ")?.parse().ok();
    }
    if let Some((_, signal)) = line.split_once(" by signal ") {
        return signal.parse().ok().map(|signal: i32| SIGNAL_BASE + signal);
    }
    let marks = ["exit code ", "exit status ", "with status (", "ERR! code ", "error code "];
    let (_, rest) = marks.iter().find_map(|mark| line.split_once(mark))?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Parses `ERROR: InvocationError for command could not find executable pytest`.
fn parse_tox(line: &str) -> Option<String> {
    let (_, program) = line.split_once("could not find executable ")?;
    program.split_whitespace().next().map(|program| program.trim_matches('\'').to_owned())
}

/// Parses what a shell, `make` or `env` says about a program that is not there:
/// `/bin/sh: 1: pytest: not found`, `test.sh: line 3: pytest: command not found`,
/// `make: pytest: No such file or directory`, `env: 'node': No such file or directory`,
/// `zsh:1: command not found: pytest`, `"pytest": executable file not found in $PATH`.
fn parse_not_found(line: &str) -> Option<String> {
    if let Some((before, program)) = line.split_once("command not found: ") {
        let is_shell = before.is_empty() || before.ends_with(": ");
        return is_shell.then(|| plain_program(program)).flatten();
    }
    if let Some(quoted) = line.strip_suffix(": executable file not found in $PATH") {
        return plain_program(quoted);
    }
    let ends = [": command not found", ": Command not found", ": not found"];
    let before = ends.iter().find_map(|end| line.strip_suffix(end));
    if let Some(before) = before {
        let (label, program) = before.rsplit_once(": ")?;
        return (!label.is_empty()).then(|| plain_program(program)).flatten();
    }
    let before = line.strip_suffix(": No such file or directory")?;
    let env = before.strip_prefix("/usr/bin/").unwrap_or(before).strip_prefix("env: ");
    plain_program(strip_make(before).or(env)?)
}

/// Returns whether a shell that a tool started for one command says it, not a script with lines of its own.
fn is_started_by_tool(line: &str) -> bool {
    const LABELS: [&str; 9] = [
        "sh: ", "/bin/sh: ", "bash: ", "/bin/bash: ", "/usr/bin/bash: ", "dash: ", "env: ",
        "/usr/bin/env: ", "command not found: ",
    ];
    strip_make(line).is_some()
        || line.starts_with('"')
        || LABELS.iter().any(|label| line.starts_with(label))
}

/// Returns the name of a program without quotes, if it is one.
fn plain_program(said: &str) -> Option<String> {
    let quotes: &[char] = &['\'', '"', '`', '\u{2018}', '\u{2019}'];
    let name = said.trim().trim_matches(quotes);
    let is_name = |c: char| c.is_alphanumeric() || "._-+/@".contains(c);
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

/// Parses `/usr/bin/python3: No module named pytest`, which an interpreter says about `-m`. An import that
/// fails has a traceback and an exception.
fn parse_module(line: &str) -> Option<String> {
    let (interpreter, said) = line.split_once(": ")?;
    let name = interpreter.rsplit('/').next().unwrap_or(interpreter);
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"))?;
    if !version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let module = said.strip_prefix("No module named ")?;
    let module = module.split(|c: char| c == ';' || c.is_whitespace()).next()?;
    plain_program(module)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(output: &str) -> Option<CheckStop> {
        find_check_stop(output.as_bytes())
    }

    // B15: the program behind make, a package script or a script is not there, or crashed.
    #[test]
    fn what_did_not_start_is_known_by_the_words_of_what_started_it() {
        let program = |name: &str| CheckStop::Program(name.to_owned());
        let module = |name: &str| CheckStop::Module(name.to_owned());
        let table = [
            (
                "make: pytest: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n",
                program("pytest"),
            ),
            ("make: pytest: Command not found\nmake: *** [test] Error 127\n", program("pytest")),
            (
                "pytest -q | tee log\n/bin/sh: 1: pytest: not found\n\
                 make: *** [Makefile:2: test] Error 127\n",
                program("pytest"),
            ),
            (
                "make[1]: Entering directory '/w/api'\n./t.sh: line 3: jq: command not found\n\
                 make[1]: *** [Makefile:2: test] Error 127\n\
                 make[1]: Leaving directory '/w/api'\nmake: *** [Makefile:5: all] Error 2\n",
                program("jq"),
            ),
            (
                "/bin/bash: line 1: ruff: command not found\nmake: *** [Makefile:4: lint] Error 127\n\
                 make: Target 'all' not remade because of errors.\n",
                program("ruff"),
            ),
            (
                "env: \u{2018}node\u{2019}: No such file or directory\n\
                 make: *** [Makefile:2: test] Error 127\n",
                program("node"),
            ),
            (
                "python3 -m pytest -q\n/usr/bin/python3: No module named pytest\n\
                 make: *** [Makefile:2: test] Error 1\n",
                module("pytest"),
            ),
            ("/w/.tox/py/bin/python: No module named pytest\n", module("pytest")),
            (
                "\n> shop@1.0.0 test\n> jest\n\nsh: 1: jest: not found\nnpm ERR! code 1\n\
                 npm ERR! path /w\n",
                program("jest"),
            ),
            (
                "> shop@1.0.0 test /w\n> vitest run\n\nsh: 1: vitest: not found\n\
                 \u{2009}ELIFECYCLE\u{2009} Test failed. See above for more details.\n\
                 \u{2009}WARN\u{2009}  Local package.json exists, but node_modules missing\n",
                program("vitest"),
            ),
            (
                "$ jest\n/bin/sh: jest: command not found\nerror Command failed with exit code 127.\n\
                 info Visit https://yarnpkg.com/en/docs/cli/run for documentation about this command.\n",
                program("jest"),
            ),
            (
                "bash: line 1: nosuch: command not found\n\
                 error: Recipe `test` failed on line 2 with exit code 127\n",
                program("nosuch"),
            ),
            (
                "task: [test] nosuch\n\"nosuch\": executable file not found in $PATH\n\
                 task: Failed to run task \"test\": exit status 127\n",
                program("nosuch"),
            ),
            (
                "ERROR: InvocationError for command could not find executable pytest\n",
                program("pytest"),
            ),
            (
                "Segmentation fault (core dumped)\nmake: *** [Makefile:2: test] Error 139\n",
                CheckStop::Signal(11),
            ),
            (
                "make: *** [Makefile:2: test] Segmentation fault (core dumped)\n",
                CheckStop::Signal(11),
            ),
            ("Killed\nmake: *** [Makefile:2: test] Error 137\n", CheckStop::Signal(9)),
            ("make: *** [Makefile:2: test] Killed\n", CheckStop::Signal(9)),
            ("error: Recipe `test` was terminated on line 2 by signal 11\n", CheckStop::Signal(11)),
            (
                "gcc -o build/check check.c && ./build/check\ndouble free or corruption (out)\n\
                 Aborted (core dumped)\nmake: *** [Makefile:2: test] Error 134\n",
                CheckStop::Signal(6),
            ),
            ("make: *** [Makefile:2: test] Aborted (core dumped)\n", CheckStop::Signal(6)),
            (
                "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n\
                 Aborted\nmake: *** [Makefile:2: test] Error 134\n",
                CheckStop::Signal(6),
            ),
        ];
        for (output, expected) in table {
            assert_eq!(found(output), Some(expected), "{output}");
        }
    }

    // B34: on whichever stream the script of checks names what failed
    #[test]
    fn a_script_of_checks_may_name_the_script_that_lacks_a_program() {
        for output in [
            "checks/a.sh: 1: shfmt: not found\nFAIL checks/a.sh\nmake: *** [test] Error 1\n",
            "FAIL checks/a.sh\nchecks/a.sh: 1: shfmt: not found\nmake: *** [test] Error 1\n",
        ] {
            assert_eq!(found(output), Some(CheckStop::Program("shfmt".to_owned())), "{output}");
        }
        let goes_on = "checks/a.sh: 1: shfmt: not found\nexpected 3, got 4\nFAIL checks/a.sh\n";
        assert_eq!(found(goes_on), None);
    }

    // B34: only the last word of a traceback is the cause
    #[test]
    fn a_script_may_lack_a_module() {
        let find = |output: &str| find_missing_import(output.as_bytes());
        let missing = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    \
                       import shop.cart\nModuleNotFoundError: No module named 'shop.cart'\n";
        assert_eq!(find(missing).as_deref(), Some("shop.cart"));
        assert_eq!(find("/usr/bin/python3: No module named pytest\n").as_deref(), Some("pytest"));
        assert_eq!(find("ModuleNotFoundError: No module named 'x'\nwent on without it\n"), None);
    }

    #[test]
    fn a_script_ends_without_a_program_if_its_last_words_say_so() {
        let found =
            |exit, output: &str| find_missing_of_script("pre-commit", exit, output.as_bytes());
        let table = [
            (127, ".git/hooks/pre-commit: 2: exec: prettier: not found\n", Some("prettier")),
            (127, "env: 'node': No such file or directory\n", Some("node")),
            (
                127,
                ".husky/pre-commit: 1: lint-staged: not found\n\
                 husky - pre-commit script failed (code 127)\n",
                Some("lint-staged"),
            ),
            (1, ".git/hooks/pre-commit: 2: prettier: not found\n", Some("prettier")),
            (
                2,
                "This repository is configured for Git LFS but 'git-lfs' was not found on your path. If you \
                 no longer wish to use Git LFS, remove this hook.\n",
                Some("git-lfs"),
            ),
            (1, "/w/hooks/pre-commit: line 2: ruff: command not found\n", Some("ruff")),
            (
                2,
                "make: ruff: No such file or directory\nmake: *** [lint] Error 127\n",
                Some("ruff"),
            ),
            (
                1,
                "`pre-commit` not found.  Did you forget to activate your virtualenv?\n",
                Some("pre-commit"),
            ),
            (1, ".git/hooks/pre-commit: 2: tput: not found\npolicy: no DRAFT\n", None),
            (1, "greet.sh: 3: greet: not found\n", None),
            (1, "policy: a DRAFT needs an owner\n", None),
            (127, "FAIL greet: expected hello, got sh: 1: greet: not found\n1 failed\n", None),
        ];
        for (exit, output, expected) in table {
            assert_eq!(found(exit, output).as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn a_test_that_prints_such_words_is_red() {
        let reds = [
            // A runner reports a failed test.
            "E       AssertionError: assert 'sh: 1: jq: not found' == 'ok'\n1 failed in 0.1s\n\
             make: *** [Makefile:2: test] Error 127\n",
            "--- FAIL: TestRun (0.00s)\n    run_test.go:8: sh: 1: jq: not found\nFAIL\n\
             make: *** [Makefile:2: test] Error 139\n",
            "FAIL greet: expected hello, got sh: 1: greet: not found\nmake: *** [test] Error 1\n",
            // Something else was the end.
            "test.sh: 2: greet: not found\nexpected hello\nmake: *** [Makefile:2: test] Error 1\n",
            "sh: 1: tput: not found\nexpected 5, got 6\nmake: *** [Makefile:2: test] Error 1\n",
            "test.sh: 2: greet: not found\nmake: *** [Makefile:2: test] Error 1\n",
            "/usr/bin/python3: No module named report\nexpected a report\nmake: *** [test] Error 1\n",
            // An import of the code under test.
            "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n\
             ModuleNotFoundError: No module named 'pytest'\nmake: *** [Makefile:2: test] Error 1\n",
            // A file that is not there is not a program.
            "sh: 0: cannot open bye.sh: No such file\nmake: *** [Makefile:2: test] Error 2\n",
            "bash: bye.sh: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n",
            "cat: out.txt: No such file or directory\nmake: *** [Makefile:2: test] Error 1\n",
            // An assertion of C aborts.
            "calc_test: calc_test.c:8: main: Assertion `add(2, 3) == 5' failed.\nAborted\n\
             make: *** [Makefile:2: test] Error 134\n",
            "sum: expected 5, got 4\nAborted\nmake: *** [Makefile:2: test] Error 134\n",
            "a page: not found\n",
            "sh: 1: jest: not found\n",
            "",
            "\n",
            "make: *** [Makefile:2: test] Error 127\n",
        ];
        for output in reds {
            assert_eq!(found(output), None, "{output}");
        }
    }
}
