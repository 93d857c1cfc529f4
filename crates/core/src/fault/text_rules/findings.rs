//! Step 1: findings of compilers, linters and test runners, which are about the code.

use super::RuleVerdict;
use super::checks::is_client_line;
use super::hit::RuleHit;
use crate::code::Code;
use crate::signature::{
    Diagnosis, Fact, LineRole, OutputLine, find_part, has_negation, is_file, is_settings_file,
};

pub(super) const COMPILER: &str = "finding.compiler";
const TEST: &str = "finding.test";
pub(super) const SETTINGS: &str = "finding.settings";
const EXCEPTION: &str = "exception.code";
const PANIC: &str = "exception.panic";
const DIED: &str = "finding.compiler-died";
const ROOM: &str = "finding.no-room";
pub(super) const COMMAND: &str = "said.command-missing";
const REFUSED: &str = "said.refused";
pub(super) const SETTINGS_FILE: &str = "said.settings";
const CLIENT: &str = "said.client";
const TOLD: &str = "said.told";
const PROGRAM: &str = "said.program";
const UNPLACED: &str = "said.unplaced";
/// Rules about the form of a sentence.
pub(super) const GUESSES: [&str; 2] = [REFUSED, UNPLACED];
const VARIABLE: &str = "exception.variable";

pub(super) const RULES: &[&str] = &[
    COMPILER, TEST, SETTINGS, EXCEPTION, VARIABLE, PANIC, DIED, ROOM, COMMAND, REFUSED,
    SETTINGS_FILE, CLIENT, TOLD, PROGRAM, UNPLACED, LOGIN_TOLD, ASKED, INSTALL_TOLD,
];

/// Returns the verdict on a finding. It outranks everything except a full disk and a tool that crashed.
pub(super) fn find_verdict(diagnosis: &Diagnosis<'_>, structured: &RuleHit) -> Option<RuleVerdict> {
    let verdict = |code, rule| Some(RuleVerdict { code, rule });
    let lines = diagnosis.lines();
    if lines.iter().any(|line| matches!(line.role, LineRole::Test | LineRole::TestDetail)) {
        return verdict(Code::LogicError, TEST);
    }
    let raised = |line: &OutputLine<'_>| {
        line.text.starts_with(b"panic: runtime error")
            || line.text.starts_with(b"terminate called after")
    };
    let of_plugin = |line: &OutputLine<'_>| find_part(line.text, b"plugin crashed").is_some();
    if lines.iter().any(raised) && !lines.iter().any(of_plugin) {
        return verdict(Code::LogicError, PANIC);
    }
    if structured.is_cause() && lines.iter().any(is_compared) {
        return verdict(Code::LogicError, TEST);
    }
    if lines.iter().any(is_missing_command) {
        return verdict(Code::ToolMissing, COMMAND);
    }
    let placed = diagnosis.finding_file();
    let points = |role| matches!(role, LineRole::Said | LineRole::Weak) && placed.is_some();
    let is_finding = |role| role == LineRole::Finding || points(role);
    let finding = lines.iter().find(|line| {
        is_finding(line.role) && !repeats_earlier_line(line, lines) && !is_traced(line)
    })?;
    // `<stdin>:1:OperationTimedOut: …`: the response of a server to a statement sent to it.
    let given = finding.file.is_some_and(|file| file.starts_with(b"<"));
    if given && structured.is_cause() {
        return None;
    }
    if structured.has_code(Code::EnvDiskFull) || structured.has_code(Code::ToolCrash) {
        return None;
    }
    if lines.iter().any(|line| is_out_of_room(line.text)) {
        return verdict(Code::EnvDiskFull, ROOM);
    }
    if finding.text.starts_with(b"internal compiler error") {
        return verdict(Code::ToolCrash, DIED);
    }
    let compiles = |sign: &&[u8]| finding.text.starts_with(sign);
    if [b"Compile failed".as_slice(), b"Compilation failed"].iter().any(compiles) {
        return verdict(Code::LogicError, COMPILER);
    }
    if finding.file.or(placed).is_some_and(is_settings_file) {
        return verdict(Code::ToolConfig, SETTINGS);
    }
    verdict(Code::LogicError, COMPILER)
}

/// Returns whether a line such as `wait.go:48: [debug] …` names a place in the tool's own source.
fn is_traced(line: &OutputLine<'_>) -> bool {
    line.text.starts_with(b"[debug]")
}

/// Returns whether a line only repeats an earlier one with a place in the tool's own source.
fn repeats_earlier_line(finding: &OutputLine<'_>, lines: &[OutputLine<'_>]) -> bool {
    const BYTES_MIN: usize = 12;
    if finding.role != LineRole::Finding || finding.file.is_none() {
        return false;
    }
    lines.iter().any(|line| {
        let at = find_part(line.text, b": ").map_or(0, |at| at + 2);
        let said = line.text[at..].trim_ascii_end();
        let said = said.strip_suffix(b":").unwrap_or(said);
        line.file.is_none()
            && line.role == LineRole::Said
            && said.len() >= BYTES_MIN
            && finding.text.len() > said.len()
            && find_part(finding.text, said).is_some()
    })
}

/// Returns whether a status is one that a test expected or got, rather than a server's response.
fn is_compared(line: &OutputLine<'_>) -> bool {
    const GOT: &[&[u8]] = &[b"got", b"received", b"was", b"actual", b"returned"];
    const ABOUT: &[&[u8]] = &[b"status", b"code", b"response"];
    let has = |words: &[&[u8]]| {
        let mut found = line.text.split(|b| !b.is_ascii_alphabetic());
        found.any(|word| words.iter().any(|known| word.eq_ignore_ascii_case(known)))
    };
    has(&[b"expected"]) && has(GOT) && has(ABOUT)
}

/// Returns whether any line is a finding or a failing test.
pub(super) fn is_found(diagnosis: &Diagnosis<'_>) -> bool {
    let of_code = |line: &OutputLine<'_>| match line.role {
        LineRole::Test | LineRole::TestDetail => true,
        LineRole::Finding => !line.file.is_some_and(is_settings_file),
        _ => false,
    };
    diagnosis.lines().iter().any(of_code)
}

/// Returns whether the text contains `on main.tf line 3, in resource "x" "y":`: a settings block is wrong,
/// unless a script named in it failed.
pub(super) fn points_at_setting(text: &[u8]) -> bool {
    find_part(text, b".tf line ").is_some() && find_part(text, b" provisioner error").is_none()
}

/// Returns whether a line points at a place in source after its first words: `-- Error: src/a.ext:12:4`.
pub(super) fn points_at_source(line: &OutputLine<'_>) -> bool {
    let is_place = |word: &[u8]| {
        let mut parts = word.split(|b| *b == b':');
        let file = parts.next().unwrap_or_default();
        let number = |part: Option<&[u8]>| {
            part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
        };
        is_file(file) && !is_settings_file(file) && number(parts.next()) && number(parts.next())
    };
    line.file.is_none()
        && matches!(line.role, LineRole::Said | LineRole::Weak | LineRole::Acute)
        && (line.text.split(|b| matches!(b, b' ' | b'\t' | b',')).any(is_place)
            || (counts_columns(line.text) && !names_data(line.text)))
}

/// Returns whether a line such as `Line 12, Col: 5` names a place in parsed text.
fn counts_columns(text: &[u8]) -> bool {
    has_line_number(text)
        && [b" col".as_slice(), b" Col"].iter().any(|s| find_part(text, s).is_some())
}

/// Returns whether a line mentions a data format, whose syntax errors are not about code.
fn names_data(text: &[u8]) -> bool {
    const DATA: [&[u8]; 4] = [b"json", b"yaml", b"toml", b"xml"];
    let lower = text.to_ascii_lowercase();
    DATA.iter().any(|name| find_part(&lower, name).is_some())
}

/// Returns whether a line ends with the system's message: `ld: final link failed: No space left on device`.
fn is_out_of_room(text: &[u8]) -> bool {
    const SENTENCE: &[u8] = b": no space left on device";
    let start = text.len().saturating_sub(SENTENCE.len());
    text[start..].eq_ignore_ascii_case(SENTENCE)
}

/// Returns the verdict on an exception that only wrong code raises. Words of its message do not indicate an
/// outside cause.
pub(super) fn judge_own_exception(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    const CLASSES: &[&[u8]] = &[
        b"SyntaxError",
        b"IndentationError",
        b"TabError",
        b"TypeError",
        b"NameError",
        b"AttributeError",
        b"ImportError",
        b"ModuleNotFoundError",
        b"AssertionError",
        b"Assertion",
        b"AssertionFailedError",
        b"ExpectationNotMetError",
        b"IndexError",
        b"KeyError",
        b"KeyNotFoundException",
        b"FormatException",
        b"ZeroDivisionError",
        b"ReferenceError",
        b"RangeError",
        b"UnboundLocalError",
        b"RecursionError",
        b"NotImplementedError",
        b"NoMethodError",
        b"ArgumentError",
        b"NullPointerException",
        b"ClassCastException",
        b"ArgumentException",
        b"IndexOutOfBoundsException",
        b"ArrayIndexOutOfBoundsException",
        b"ClassNotFoundException",
        b"NoSuchMethodError",
        b"NoClassDefFoundError",
        b"IllegalArgumentException",
        b"NumberFormatException",
        b"ArithmeticException",
        b"StackOverflowError",
        b"NullReferenceException",
        b"InvalidCastException",
        b"ArgumentNullException",
        b"ParseError",
        b"ArgumentCountError",
        b"FrozenError",
        b"LoadError",
        b"FloatDomainError",
        b"ValidationError",
    ];
    let mut found = None;
    for fact in diagnosis.facts() {
        let Fact::Class(class) = fact else { continue };
        let last = class.rsplit(|b| matches!(b, b'.' | b':' | b'\\')).next().unwrap_or(class);
        if last == b"KeyError" && names_variable(diagnosis) {
            return Some(RuleVerdict { code: Code::AuthMissing, rule: VARIABLE });
        }
        if CLASSES.contains(&last) {
            found = Some(RuleVerdict { code: Code::LogicError, rule: EXCEPTION });
        }
    }
    found
}

/// Returns whether the missing key is an environment variable: `KeyError: 'API_TOKEN'`, `key not found:
/// "API_TOKEN" (KeyError)`. A key in capitals with an underscore is one, and a program that requires one
/// requires an account.
fn names_variable(diagnosis: &Diagnosis<'_>) -> bool {
    let is_variable = |key: &[u8]| {
        key.contains(&b'_')
            && key.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
    };
    diagnosis.lines().iter().any(|line| {
        let mut quoted = line.text.split(|b| matches!(b, b'\'' | b'"'));
        find_part(line.text, b"KeyError").is_some() && quoted.nth(1).is_some_and(is_variable)
    })
}

/// Returns whether a line reports a missing program: `sh: 1: tool: not found`, `env: 'tool': No such file or
/// directory`, `spawn tool ENOENT`.
fn is_missing_command(line: &OutputLine<'_>) -> bool {
    const MISSING: &[u8] = b"[Errno 2] No such file or directory: ";
    let text = line.text;
    let single =
        |name: &[u8]| !name.is_empty() && !name.iter().any(|b| matches!(b, b' ' | b'/' | b'.'));
    // `bash: line 1: exec: tool: not found`.
    let named = text.strip_suffix(b": not found").and_then(|said| {
        let at = find_part(said, b"exec: ")?;
        Some(&said[at + b"exec: ".len()..])
    });
    if named.is_some_and(single) {
        return true;
    }
    if line.file.is_some() && line.role == LineRole::Said {
        return text.strip_suffix(b": not found").is_some_and(single);
    }
    if let Some(name) = text.strip_suffix(b": No such file or directory") {
        let after = |program: &[u8]| name.strip_prefix(program).is_some_and(single);
        // `execve(): tool`, `failed to exec: tool`, `wrapper: execvp tool`.
        let executed = memchr::memmem::rfind(name, b": ").is_some_and(|at| {
            let last = &name[at + 2..];
            let call = last.strip_prefix(b"exec").and_then(|call| {
                let gap = memchr::memchr(b' ', call)?;
                Some(&call[gap + 1..])
            });
            call.is_some_and(single) || (find_part(&name[..at], b"exec").is_some() && single(last))
        });
        return executed
            || after(b"setsid: failed to execute ")
            || after(b"env: ")
            || after(b"/usr/bin/env: ")
            || after(b"make: ")
            || after(b"xargs: ")
            || after(b"nohup: ")
            || after(b"nice: ")
            || after(b"stdbuf: ")
            || after(b"error: cannot run ");
    }
    // A bare name is a program to run; data has an extension or a directory.
    if let Some(at) = find_part(text, MISSING) {
        let name = &text[at + MISSING.len()..];
        return single(name.strip_prefix(b"b").unwrap_or(name));
    }
    text.ends_with(b"ENOENT") && find_part(text, b"spawn ").is_some()
}

/// The rule for output that asks whether a server is running.
pub(super) const ASKED: &str = "said.running";

/// Returns whether a line asks whether a server is running: `could not list nodes, is the agent running?`
pub(super) fn asks_for_server(diagnosis: &Diagnosis<'_>) -> bool {
    const ENDINGS: [&[u8]; 5] = [b" running?", b" up?", b" started?", b" online?", b" reachable?"];
    let asks = |text: &[u8]| {
        text.split_inclusive(|b| *b == b'?')
            .any(|part| ENDINGS.iter().any(|end| part.ends_with(end)))
    };
    // A server that may not even be installed counts as missing first.
    let installs = |text: &[u8]| find_part(text, b"installed").is_some();
    let asked =
        |line: &OutputLine<'_>| line.file.is_none() && asks(line.text) && !installs(line.text);
    diagnosis.lines().iter().any(asked)
}

/// The rule for output that says how to log in.
pub(super) const LOGIN_TOLD: &str = "said.login";

/// The rule for output that says how to install a missing program.
pub(super) const INSTALL_TOLD: &str = "said.install";

/// Returns whether a line names the login command: `run "tool auth login"`, `$ tool login`.
pub(super) fn tells_login(text: &[u8]) -> bool {
    text.split(|b| matches!(b, b'\'' | b'"' | b'`')).skip(1).step_by(2).any(is_login)
        || [b"run ".as_slice(), b"Run ", b"run: ", b"Use: ", b"$ "].iter().any(|opening| {
            find_part(text, opening).is_some_and(|at| is_login(&text[at + opening.len()..]))
        })
}

/// Returns whether a command logs in, as `tool auth login --web` does: a program followed closely by the
/// login word.
fn is_login(command: &[u8]) -> bool {
    const COMMANDS: &[&[u8]] = &[b"login", b"signin", b"auth", b"authenticate", b"sign-in"];
    const WORDS_MAX: usize = 4;
    let words = command.split(|b| *b == b' ').filter(|word| !word.starts_with(b"-"));
    let mut words = words.take(WORDS_MAX).map(|word| word.strip_suffix(b".").unwrap_or(word));
    words.next().is_some() && words.any(|word| COMMANDS.contains(&word))
}

/// Returns whether a line says how to install a missing program: `run 'brew install tool'`.
pub(super) fn tells_install(text: &[u8]) -> bool {
    const MANAGERS: &[&[u8]] = &[
        b"brew", b"apt", b"apt-get", b"dnf", b"yum", b"apk", b"choco", b"scoop", b"winget",
        b"pacman", b"snap", b"zypper", b"port",
    ];
    const MISSING: &[&[u8]] = &[b"ot found", b"equired", b"issing", b"ot installed"];
    let mut words = text.split(|b| is_gap(*b)).filter(|word| !word.is_empty());
    let mut previous: &[u8] = b"";
    MISSING.iter().any(|sign| find_part(text, sign).is_some())
        && words.any(|word| {
            let found = word == b"install" && MANAGERS.contains(&previous);
            previous = word;
            found
        })
}

/// Returns the verdict on a refusal that no other rule matches: it is about the program's settings, or about
/// how it was called.
pub(super) fn judge_refusal(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    if diagnosis.is_raised_in_code() {
        return None;
    }
    let denied = |line: &OutputLine<'_>| {
        is_program_report(line) && denies_something(line.text) && !has_line_number(line.text)
    };
    let verdict = || RuleVerdict { code: Code::ToolConfig, rule: REFUSED };
    judge_settings(diagnosis).or_else(|| diagnosis.lines().iter().any(denied).then(verdict))
}

/// Returns whether a line denies something, says what could not be done, or asks for something else.
fn denies_something(text: &[u8]) -> bool {
    const SIGNS: &[&[u8]] = &[b"ailed to ", b"ou need to ", b"lease ", b"out of date", b"specify"];
    has_negation(text) || SIGNS.iter().any(|sign| find_part(text, sign).is_some())
}

/// Returns the verdict on a client's message about its own work: it is about how the client was called, as
/// long as no exception was raised.
pub(super) fn judge_client(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    let said = |line: &OutputLine<'_>| is_said(line) && is_client_line(line.text);
    let named = !diagnosis.is_raised_in_code() && diagnosis.lines().iter().any(said);
    named.then_some(RuleVerdict { code: Code::ToolConfig, rule: CLIENT })
}

/// Returns the verdict on a message after the program's own name, or one that mentions the help option: it is
/// about how the program was called, as long as no exception was raised and no place in source is named.
pub(super) fn judge_program(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    let lines = diagnosis.lines();
    let explains = |line: &OutputLine<'_>| {
        const SIGNS: &[&[u8]] = &[b"--help", b"un `", b"lease run "];
        SIGNS.iter().any(|sign| find_part(line.text, sign).is_some())
    };
    let speaks = |line: &OutputLine<'_>| {
        let Some(at) = find_part(line.text, b": ") else { return false };
        let name = &line.text[..at];
        let said = &line.text[at + 2..];
        let named = |b: &u8| b.is_ascii_lowercase() || matches!(b, b'-' | b'_');
        at > 1
            && name.iter().all(named)
            && said.iter().filter(|b| **b == b' ').nth(1).is_some()
            && said.first().is_some_and(u8::is_ascii_alphanumeric)
            && !said.ends_with(b"ailed")
    };
    let own = |line: &OutputLine<'_>| line.file.is_none() && !has_line_number(line.text);
    let told = !diagnosis.is_raised_in_code()
        && diagnosis.finding_file().is_none()
        && lines.iter().all(own)
        && (lines.iter().any(speaks) || lines.iter().any(explains));
    told.then_some(RuleVerdict { code: Code::ToolConfig, rule: PROGRAM })
}

/// Nouns for arguments and inputs of programs.
const WORKED_ON: &[&[u8]] = &[
    b"file", b"files", b"config", b"configuration", b"settings", b"version", b"versions",
    b"directory", b"folder", b"option", b"options", b"flag", b"argument", b"arguments", b"target",
    b"package", b"packages", b"profile", b"workspace", b"project", b"repository", b"checksum",
    b"signature", b"root", b"image", b"plugin", b"schema", b"environment", b"link",
];

/// Returns the verdict on a message about a program's inputs that no rule matches, without a place in any
/// source, a stack or a program that ended: it is about how the program was called, since code that fails
/// says where.
pub(super) fn judge_unplaced(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    const SIGNS: &[&[u8]] =
        &[b"exit ", b"exited", b"ssert", b"ailed", b"FAILED", b"^", b"aborted", b"inding"];
    let text = diagnosis.text();
    let placed = |line: &[u8]| {
        let colon = |at: usize| line.get(at + 1).is_some_and(u8::is_ascii_digit);
        has_line_number(line)
            || find_part(line, b"ine: ").is_some()
            || memchr::memchr_iter(b':', line).any(colon)
            || SIGNS.iter().any(|sign| find_part(line, sign).is_some())
    };
    let own = |line: &OutputLine<'_>| {
        let mut words = line.text.split(|b| !b.is_ascii_alphabetic());
        line.file.is_none() && words.any(|word| WORKED_ON.contains(&word))
    };
    let told = !diagnosis.is_raised_in_code()
        && diagnosis.finding_file().is_none()
        && diagnosis.lines().iter().any(own)
        && !text.split(|b| *b == b'\n').any(placed);
    told.then_some(RuleVerdict { code: Code::ToolConfig, rule: UNPLACED })
}

/// Returns the verdict on a message after a level, without a place in any source: it is about the program's
/// own work.
pub(super) fn judge_told(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    let said = |line: &OutputLine<'_>| {
        line.role == LineRole::Said && line.file.is_none() && !has_line_number(line.text)
    };
    let told = !diagnosis.is_raised_in_code() && diagnosis.lines().iter().any(said);
    told.then_some(RuleVerdict { code: Code::ToolConfig, rule: TOLD })
}

/// Returns the verdict on a message about a settings file. A syntax error in it does not make it code.
pub(super) fn judge_settings(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    let about = |line: &OutputLine<'_>| match line.file {
        Some(file) => line.role == LineRole::Said && is_settings_file(file),
        None => is_program_report(line) && line.text.split(|b| is_gap(*b)).any(is_settings_file),
    };
    let named = !diagnosis.is_raised_in_code() && diagnosis.lines().iter().any(about);
    named.then_some(RuleVerdict { code: Code::ToolConfig, rule: SETTINGS_FILE })
}

/// Returns whether a program reports it, by a sentence or by the class of the exception it raised.
fn is_program_report(line: &OutputLine<'_>) -> bool {
    is_said(line) || (line.role == LineRole::Exception && line.file.is_none())
}

/// Returns whether any line mentions a settings file.
pub(super) fn names_settings(diagnosis: &Diagnosis<'_>) -> bool {
    let named = |line: &OutputLine<'_>| line.text.split(|b| is_gap(*b)).any(is_settings_file);
    diagnosis.lines().iter().any(named)
}

const fn is_said(line: &OutputLine<'_>) -> bool {
    line.file.is_none() && matches!(line.role, LineRole::Said | LineRole::Weak | LineRole::Acute)
}

const fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\'' | b'"' | b'`' | b':' | b'(' | b')' | b',' | b'=')
}

/// Returns whether a line refers to its input by position: `at line 3`, `<stdin>:1`.
fn has_line_number(text: &[u8]) -> bool {
    let numbered = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    find_part(text, b"ine ").is_some_and(|at| numbered(at + 4))
        || find_part(text, b">:").is_some_and(|at| numbered(at + 2))
}
