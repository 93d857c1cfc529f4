//! Lines without a mark: classified by their first word, then by all their words; and the text after a location.

use super::super::words::{self, ACUTE, ERROR, FAIL, NEGATION, NOTE, PROGRESS, WARNING};
use super::shape::{
    closing_class, contains_part, exception_role, first_word, is_code, is_count, is_driver_message,
    is_exception_class, starts_with_any,
};
use super::{LineRole, place};

/// Returns the role of a line without a location.
pub(super) fn classify_spoken(text: &[u8]) -> (LineRole, &[u8]) {
    let opening = text.strip_prefix(b"[").unwrap_or(text);
    let word = first_word(opening);
    let after = &opening[word.len()..];
    let hint = if word.starts_with(b"ERR_") { ERROR } else { words::word_hints(word) };
    if hint & WARNING != 0 || word.ends_with(b"Warning") {
        let retried = contains_part(text, b"etry") || contains_part(text, b"rror(");
        return (if retried { LineRole::Acute } else { LineRole::Warning }, text);
    }
    if hint & NOTE != 0 && opens_remark(word, after) {
        // `hint: … (401 Unauthorized)`: some tools put the server's response into the advice.
        let answered = contains_part(text, b" Unauthorized") || contains_part(text, b" Forbidden");
        return (if answered { LineRole::Acute } else { LineRole::Note }, text);
    }
    if hint & ERROR != 0 && !matches!(after.first(), Some(b'-' | b'_' | b'/' | b'.')) {
        let said = message_after_level(after);
        if is_summary(said) {
            return (LineRole::Summary, text);
        }
        return (
            if after.starts_with(b"[E") || is_code(first_word(said)) {
                LineRole::Finding
            } else {
                LineRole::Said
            },
            text,
        );
    }
    if let Some(role) = exception_role(word, after) {
        return (role, text);
    }
    if hint & FAIL != 0 && after.starts_with(b": ") && !is_summary(&after[2..]) {
        return (LineRole::Said, text);
    }
    if is_code(word) && (after.starts_with(b" ") || after.starts_with(b":")) {
        return (LineRole::Finding, text);
    }
    if is_perl_exception(text) {
        return (LineRole::Exception, text);
    }
    classify_by_words(text, word, after, hint)
}

/// Returns whether a line ends as Perl's exceptions do: `… at run.pl line 3.`
fn is_perl_exception(text: &[u8]) -> bool {
    let ends = text.strip_suffix(b".").unwrap_or(text);
    if !ends.last().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let Some(at) = memchr::memmem::rfind(text, b" line ") else { return false };
    let number = text[at + 6..].strip_suffix(b".").unwrap_or(&text[at + 6..]);
    let head = &text[..at];
    let file = memchr::memrchr(b' ', head).map_or(head, |gap| &head[gap + 1..]);
    !number.is_empty()
        && number.iter().all(u8::is_ascii_digit)
        && place::is_file(file)
        && head[..head.len() - file.len()].ends_with(b" at ")
}

fn classify_by_words<'a>(
    text: &'a [u8],
    word: &[u8],
    after: &[u8],
    hint: u8,
) -> (LineRole, &'a [u8]) {
    let found = words::line_hints(text);
    let bad = found & (ERROR | FAIL | NEGATION | ACUTE) != 0;
    if is_summary(text) {
        return (LineRole::Summary, text);
    }
    if hint & PROGRESS != 0 && found & (ERROR | FAIL | ACUTE) == 0 {
        // `Get "http://x": no such host`: the operation that failed.
        return (if bad { LineRole::Weak } else { LineRole::Progress }, text);
    }
    let program = after.starts_with(b": ") && is_program(word);
    if bad && program {
        let said = strip_level(message_after_level(&after[1..]));
        let role = match place::base_name(word) {
            _ if is_summary(said) => LineRole::Summary,
            b"ld" | b"ld.lld" | b"lld" | b"ld.gold" | b"mold" => LineRole::Finding,
            _ => LineRole::Said,
        };
        return (role, text);
    }
    if found & ERROR != 0
        && let Some(said) = after_error(text)
    {
        // `runtime error: file a.xsl line 3`: only the place; the message is below.
        let places = said.starts_with(b"file ") && contains_part(said, b" line ");
        return (if places { LineRole::StatementFollows } else { LineRole::Said }, text);
    }
    let role = match found {
        found if found & ACUTE != 0 => LineRole::Acute,
        _ if bad || program => LineRole::Weak,
        // The reason phrase of a status, if the line was broken before it.
        _ if contains_part(text, b"Too Many Requests") => LineRole::Acute,
        // `[2/5] Building application...`: the work continues.
        _ if text.ends_with(b"...") => LineRole::Progress,
        _ => LineRole::Plain,
    };
    (role, text)
}

/// Returns whether a word opens a remark: `help: …`, `Usage: …`, `INFO …`, `Run 'x' for more`; but not `Info
/// about x was not found`.
fn opens_remark(word: &[u8], after: &[u8]) -> bool {
    match after.first() {
        None | Some(b':' | b']' | b'=') => true,
        Some(b' ') => {
            word.iter().all(u8::is_ascii_uppercase)
                || matches!(word, b"Run" | b"See" | b"Try" | b"Use" | b"Usage" | b"usage")
        }
        _ => false,
    }
}

/// Returns the text after the first colon, if the word before it is `error`: `parse error: …`, `jq: error (at
/// <stdin>:1): …`.
fn after_error(text: &[u8]) -> Option<&[u8]> {
    const HEAD_BYTES_MAX: usize = 80;
    let head = &text[..text.len().min(HEAD_BYTES_MAX)];
    let colon = memchr::memchr(b':', head)?;
    let last = head[..colon].rsplit(|b| *b == b' ').next().unwrap_or(head);
    (words::word_hints(last) & ERROR != 0).then(|| text[colon + 1..].trim_ascii_start())
}

/// Returns whether a word before a colon is a program's name: lower case, or a path.
fn is_program(word: &[u8]) -> bool {
    let name = place::base_name(word);
    name.first().is_some_and(u8::is_ascii_lowercase) && name.len() <= 40
}

/// Returns the message after a level word: `error: text`, `error[E1]: text`, `[ERROR] text`.
fn message_after_level(after: &[u8]) -> &[u8] {
    let skip = after.iter().take_while(|b| matches!(b, b':' | b' ' | b']' | b'!' | b'\t')).count();
    &after[skip..]
}

/// Strips the level after a program's name: `error: text`.
fn strip_level(said: &[u8]) -> &[u8] {
    let word = first_word(said);
    match words::word_hints(word) & ERROR {
        0 => said,
        _ => message_after_level(&said[word.len()..]),
    }
}

/// Prefixes of sentences that only report that there were failures.
const SUMMARIES: &[&[u8]] = &[
    b"aborting due to",
    b"could not compile",
    b"test failed, to rerun",
    b"build failed",
    b"Build failed",
    b"BUILD FAILED",
    b"compilation terminated",
    b"all warnings being treated",
    b"ld returned",
    b"linker command failed",
    b"command failed with exit",
    b"Command failed with exit",
    b"A complete log",
    b"*** [",
    b"Failed to compile",
    b"Compilation failed",
    b"compilation failed",
    b"There were failures",
    b"tests failed",
    b"Tests failed",
    b"Tests:",
    b"Test Suites:",
    b"Test Files",
    b"failures:",
    b"previous error",
    b"exited with code",
    b"Command exited",
    b"Aborting",
    b"-> [Help",
    b"To see the full stack trace",
    b"Re-run Maven",
    b"For more information about the errors",
    b"script returned exit code",
    b"BEGIN failed",
    b"Execution of ",
    b"build stopped",
    b"Error is not recoverable",
    b"Configuring incomplete",
];

/// The first bytes of those sentences; most lines begin with another.
static OPENS_SUMMARY: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < SUMMARIES.len() {
        table[SUMMARIES[at][0] as usize] = true;
        at += 1;
    }
    table
};

/// Returns whether a sentence only reports that there were failures.
pub(super) fn is_summary(said: &[u8]) -> bool {
    let Some(first) = said.first() else { return false };
    if first.is_ascii_digit() {
        let digits = said.iter().take_while(|b| b.is_ascii_digit()).count();
        return is_count(said[digits..].trim_ascii_start());
    }
    (OPENS_SUMMARY[usize::from(*first)] && starts_with_any(said, SUMMARIES))
        || (said.last() == Some(&b'r') && said.ends_with(b" compilation error"))
}

/// Returns the role of the text after a location: a level, a code, a class or the finding itself.
pub(super) fn classify_located(rest: &[u8]) -> (LineRole, &[u8]) {
    let word = first_word(rest);
    let after = &rest[word.len()..];
    // Ruby's frames end with the method they are in.
    if (rest.starts_with(b"in `") || rest.starts_with(b"in '")) && rest.ends_with(b"'") {
        return (LineRole::Frame, rest);
    }
    if let Some(twice) = strip_other_definition(rest) {
        return (LineRole::Finding, twice);
    }
    if rest.is_empty()
        || rest.starts_with(b"in ")
        || rest.starts_with(b"In ")
        || rest.starts_with(b"from ")
    {
        return (LineRole::Echo, rest);
    }
    if word.ends_with(b"Warning") {
        return (LineRole::Warning, rest);
    }
    if after.is_empty() && is_exception_class(word) {
        return (LineRole::Echo, rest);
    }
    // `a.go:6:2: example.com/x: Get "https://…": …`: an import could not be fetched.
    if contains_part(rest, b": Get \"http") {
        return (LineRole::Said, rest);
    }
    let hint = words::word_hints(word);
    if hint & WARNING != 0 {
        return (LineRole::Warning, rest);
    }
    if hint & (NOTE | PROGRESS) != 0 && after.first() == Some(&b':') {
        return (LineRole::Note, rest);
    }
    if hint & ERROR != 0 {
        let role = if is_driver_message(after) { LineRole::Said } else { LineRole::Finding };
        return (role, rest);
    }
    if closing_class(rest).is_some() {
        return (LineRole::Exception, rest);
    }
    let found = words::line_hints(rest);
    if found & (ERROR | FAIL | NEGATION | ACUTE) != 0 || is_code(word) {
        return (LineRole::Finding, rest);
    }
    (LineRole::Weak, rest)
}

/// Returns `multiple definition of 'f'; /tmp/b.o:b.c:(.text+0x0): first defined here` without the other
/// place.
fn strip_other_definition(rest: &[u8]) -> Option<&[u8]> {
    let named = rest.starts_with(b"multiple definition of ");
    named.then(|| rest.split(|b| *b == b';').next().unwrap_or(rest))
}

/// Returns the role of an interpreter's message about the statement it runs, which concerns the command and
/// not the code.
pub(super) fn classify_running(rest: &[u8]) -> LineRole {
    let hint = words::word_hints(first_word(rest));
    match hint {
        _ if rest.is_empty() => LineRole::Echo,
        _ if is_death(rest) => LineRole::Death,
        hint if hint & WARNING != 0 => LineRole::Warning,
        hint if hint & (NOTE | PROGRESS) != 0 => LineRole::Note,
        _ => LineRole::Said,
    }
}

/// Returns whether a shell reports how a process died: `6670 Segmentation fault      ./app`.
fn is_death(rest: &[u8]) -> bool {
    const WAYS: &[&[u8]] = &[
        b"Aborted", b"Segmentation fault", b"Killed", b"Bus error", b"Illegal instruction",
        b"Floating point exception", b"Terminated", b"Trace/breakpoint trap",
    ];
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let way = rest[digits..].trim_ascii_start();
    digits > 0 && WAYS.iter().any(|known| way.starts_with(known))
}
