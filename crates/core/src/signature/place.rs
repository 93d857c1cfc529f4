//! Locations at the beginning of a diagnostic: `src/a.rs:3:5:`, `a.ts(3,5):`, `run.sh: line 3:`.
//!
//! The place varies without meaning, so it is cut off; only its kind of file is kept.

/// A line after its leading location.
#[derive(Clone, Copy)]
pub(crate) struct LocatedText<'a> {
    /// The text after the location, or the whole line.
    pub(crate) rest: &'a [u8],
    /// The file that the location names.
    pub(crate) file: Option<&'a [u8]>,
    /// `true` if an interpreter names the statement it is running, which is not a finding about it.
    pub(crate) running: bool,
}

/// The file of a location that names only a line of the input.
const INPUT: &[u8] = b"<input>";

/// Maximum length of a path that is considered a location.
const FILE_BYTES_MAX: usize = 512;

/// Cuts off a leading location.
pub(crate) fn cut_location(line: &[u8]) -> LocatedText<'_> {
    let whole = LocatedText { rest: line, file: None, running: false };
    let bare = match line.first() {
        Some(b'l' | b'L') => after_line_and_column(line),
        Some(b'(') => after_bare_section(line),
        _ => None,
    };
    if let Some(rest) = bare {
        return LocatedText { rest, file: Some(INPUT), running: false };
    }
    let start = drive_len(line);
    let limit = line.len().min(FILE_BYTES_MAX);
    let ends = |b: &u8| matches!(b, b':' | b'(' | b' ' | b'"' | b'\'');
    let Some(end) = line[start..limit].iter().position(ends) else { return whole };
    let end = start + end;
    if end == 0 {
        return whole;
    }
    let file = &line[..end];
    let tail = &line[end..];
    let found = |rest: Option<_>, running| {
        rest.map_or(whole, |rest| LocatedText { rest, file: Some(file), running })
    };
    match tail {
        [b':', b'0'..=b'9', ..] if is_file(file) => found(after_numbers(tail), is_script(file)),
        [b'(', b'0'..=b'9', ..] if is_file(file) => found(after_parenthesis(tail), false),
        // A place inside a document: `order.json::$.items[0]: text`.
        [b':', b':', b'$', ..] if is_file(file) => found(after_document_path(tail), false),
        [b':', b'(', ..] if is_file(file) => found(after_section(tail), false),
        [b':', b'[', b'0'..=b'9', ..] if is_file(file) => found(after_bracket(tail), false),
        // `rules.yml: 3:5: text`: line and column, apart from the file.
        [b':', b' ', b'0'..=b'9', ..] if is_file(file) && after_column(&tail[2..]).is_some() => {
            found(after_column(&tail[2..]), false)
        }
        [b':', b' ', b'0'..=b'9', ..] if is_file(file) => {
            found(after_line_number(&tail[2..]), true)
        }
        // `sh: 1: text`; `uploaded: 12` counts something.
        [b':', b' ', b'0'..=b'9', ..] if is_shell(file) => {
            let said = after_line_number(&tail[2..]);
            found(said.filter(|said| !said.is_empty()), true)
        }
        [b':', b' ', b'l', b'i', b'n', b'e', b' ', b'0'..=b'9', ..] => {
            found(after_line_number(&tail[7..]), true)
        }
        [b' ', b'l', b'i', b'n', b'e', b' ', b'0'..=b'9', ..] if is_file(file) => {
            found(after_line_number(&tail[6..]), false)
        }
        // `ERROR in ./a.js 3:5-24`, `a.scss 3:5  root stylesheet`.
        [b' ', b'0'..=b'9', ..] if is_file(file) => found(after_column(&tail[1..]), false),
        // A script names itself as the program: `deploy.py: error: text`.
        [b':', b' ', rest @ ..] if is_source(file) && opens_with_level(rest) => {
            found(Some(rest), true)
        }
        // A program names itself before the file it is made of: `app: main.c:3: text`.
        [b':', b' ', rest @ ..]
            if is_program(file) && rest.first().is_some_and(|b| !b.is_ascii_digit()) =>
        {
            let inner = cut_leading_location(rest);
            if inner.file.is_some() && !inner.running { inner } else { whole }
        }
        // A program names itself before the file it reads: `psql:a.sql:3: text`.
        [b':', rest @ ..]
            if is_program(file) && !rest.starts_with(b" ") && !rest.starts_with(b":") =>
        {
            let inner = cut_leading_location(rest);
            if inner.file.is_some() { inner } else { whole }
        }
        _ => whole,
    }
}

/// Cuts off a file before a sentence about it, as after a level: `src/a.py Imports are not sorted.`
pub(crate) fn cut_file(line: &[u8]) -> LocatedText<'_> {
    let end = memchr::memchr(b' ', line).unwrap_or(line.len());
    let file = &line[..end];
    let rest = line[end..].trim_ascii_start();
    let sentence = matches!(rest, [b'A'..=b'Z', b'a'..=b'z', ..]);
    // A name without a directory may be a test: `CartTest.adds  Time elapsed: 0.1 s`.
    if sentence && memchr::memchr(b'/', file).is_some() && is_file(file) {
        return LocatedText { rest, file: Some(file), running: false };
    }
    LocatedText { rest: line, file: None, running: false }
}

/// Cuts off a location at the very beginning, with no program before it.
fn cut_leading_location(line: &[u8]) -> LocatedText<'_> {
    let file = line.iter().take(FILE_BYTES_MAX).position(|b| matches!(b, b':' | b'(' | b' '));
    match file {
        Some(end) if is_file(&line[..end]) && !is_program(&line[..end]) => cut_location(line),
        _ => LocatedText { rest: line, file: None, running: false },
    }
}

/// Returns whether a file is run or imported under its own name.
pub(crate) fn is_source(file: &[u8]) -> bool {
    const EXTENSIONS: &[&[u8]] = &[
        b"py", b"rb", b"pl", b"js", b"mjs", b"cjs", b"jsx", b"ts", b"mts", b"tsx", b"vue", b"sh",
        b"lua", b"php", b"svelte", b"exs", b"tcl",
    ];
    memchr::memrchr(b'.', file).is_some_and(|dot| EXTENSIONS.contains(&&file[dot + 1..]))
}

fn opens_with_level(text: &[u8]) -> bool {
    [b"error: ".as_slice(), b"fatal: ", b"Error: ", b"ERROR: "]
        .iter()
        .any(|level| text.starts_with(level))
}

/// Returns whether a file is a shell script or SQL, which run statement by statement.
fn is_script(file: &[u8]) -> bool {
    const EXTENSIONS: &[&[u8]] = &[b"sh", b"bash", b"zsh", b"sql", b"ps1", b"bats"];
    memchr::memrchr(b'.', file).is_some_and(|dot| EXTENSIONS.contains(&&file[dot + 1..]))
}

/// Returns whether a word is a program that may name the line it runs; words that introduce another number
/// are not.
fn is_shell(word: &[u8]) -> bool {
    const NUMBERED: &[&[u8]] = &[b"status", b"code", b"errno", b"error", b"exit", b"signal"];
    is_program(word) && !NUMBERED.contains(&word)
}

/// Returns whether a word is a program's name; it may end with a version: `lua5.4`.
fn is_program(word: &[u8]) -> bool {
    let versioned =
        |at: usize| word[at] == b'.' && word.get(at + 1).is_some_and(u8::is_ascii_digit);
    let named = |b: &u8| b.is_ascii_lowercase() || matches!(b, b'0'..=b'9' | b'-' | b'_');
    word.len() <= 16 && (0..word.len()).all(|at| named(&word[at]) || versioned(at))
}

/// Returns the length of a drive such as `C:`, whose colon is not a separator.
fn drive_len(line: &[u8]) -> usize {
    match line {
        [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic() => 2,
        _ => 0,
    }
}

/// Returns the text after `:3:5: text`, `:3: text`, `:3:5 - text`, `:3:in 'f': text`.
fn after_numbers(tail: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    while let [b':' | b'-' | b'.' | b',', b'0'..=b'9', ..] = &tail[at..] {
        at += 1 + count_digits(&tail[at + 1..]);
    }
    let rest = &tail[at..];
    match rest {
        [] => Some(rest),
        [b':', rest @ ..] => Some(after_method(rest).trim_ascii_start()),
        [b' ', b'-', b' ', rest @ ..] => Some(rest),
        [b' ', rest @ ..] => Some(rest.trim_ascii_start()),
        _ => None,
    }
}

/// Returns the text after `3:5 text`, `3:5-24`; a single number may count anything.
fn after_column(tail: &[u8]) -> Option<&[u8]> {
    match &tail[count_digits(tail)..] {
        numbers @ [b':', b'0'..=b'9', ..] => after_numbers(numbers),
        _ => None,
    }
}

/// Skips the method that Ruby names after the line: `:in 'call': text`.
fn after_method(rest: &[u8]) -> &[u8] {
    if !rest.starts_with(b"in ") && !rest.starts_with(b"in `") {
        return rest;
    }
    match memchr::memmem::find(rest, b"': ") {
        Some(end) => &rest[end + 3..],
        None => rest,
    }
}

/// Returns the text after `(3,5): text`, `(3): text`.
fn after_parenthesis(tail: &[u8]) -> Option<&[u8]> {
    let inside = tail[1..]
        .iter()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b',' | b':' | b'-' | b' '))
        .count();
    match &tail[1 + inside..] {
        [b')', b':' | b' ', rest @ ..] => Some(rest.trim_ascii_start()),
        _ => None,
    }
}

/// Returns the text after `line 3 column 5 - text`, `Line 3, column 5: text`.
fn after_line_and_column(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"line ").or_else(|| line.strip_prefix(b"Line "))?;
    let rest = after_digits(rest)?;
    let rest = rest.strip_prefix(b",").unwrap_or(rest);
    let rest =
        after_digits(rest.strip_prefix(b" column ").or_else(|| rest.strip_prefix(b" col "))?)?;
    rest.strip_prefix(b" - ").or_else(|| rest.strip_prefix(b": "))
}

fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let len = count_digits(text);
    (len > 0).then(|| &text[len..])
}

/// Returns the text after the document path of validators: `::$.items[0]: text`.
fn after_document_path(tail: &[u8]) -> Option<&[u8]> {
    let end = memchr::memmem::find(tail, b": ")?;
    Some(&tail[end + 2..])
}

/// Returns the text after the section of linkers: `:(.text+0xa): text`.
fn after_section(tail: &[u8]) -> Option<&[u8]> {
    let end = memchr::memmem::find(&tail[..tail.len().min(80)], b"): ")?;
    Some(&tail[end + 3..])
}

/// Returns the text after the section of an object without a source name: `(.text+0x17): text`.
fn after_bare_section(line: &[u8]) -> Option<&[u8]> {
    if !line.starts_with(b"(.") {
        return None;
    }
    after_section(line)
}

/// Returns the text after Maven's position: `:[3,5] text`.
fn after_bracket(tail: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr(b']', &tail[..tail.len().min(24)])?;
    Some(tail[end + 1..].trim_ascii_start())
}

/// Returns the text after `3: text`.
fn after_line_number(tail: &[u8]) -> Option<&[u8]> {
    match &tail[count_digits(tail)..] {
        [b':' | b',', b' ', rest @ ..] => Some(rest),
        [] | [b':'] => Some(&[]),
        _ => None,
    }
}

fn count_digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Returns whether a word names a file: it has a directory or an extension, or denotes the input.
pub(crate) fn is_file(word: &[u8]) -> bool {
    if word.first() == Some(&b'<') {
        return word.last() == Some(&b'>');
    }
    if memchr::memchr2(b'/', b'\\', word).is_some() {
        return true;
    }
    match memchr::memrchr(b'.', word) {
        Some(0) | None => is_recipe(word) || matches!(word, b"makefile" | b"-"),
        Some(dot) => {
            let extension = &word[dot + 1..];
            (1..=6).contains(&extension.len())
                && extension[0].is_ascii_alphabetic()
                && extension.iter().all(u8::is_ascii_alphanumeric)
                && !HOST_ENDINGS.contains(&extension)
        }
    }
}

/// Returns whether a name is a build file with a fixed name: `Makefile`, `Dockerfile`, `Caddyfile`.
pub(super) fn is_recipe(name: &[u8]) -> bool {
    name.len() > 5 && name[0].is_ascii_uppercase() && name.ends_with(b"file")
}

/// Suffixes of a host name rather than a file name.
const HOST_ENDINGS: &[&[u8]] =
    &[b"com", b"org", b"net", b"io", b"local", b"internal", b"invalid", b"dev", b"cloud"];

/// Returns the last part of a path.
pub(crate) fn base_name(path: &[u8]) -> &[u8] {
    let trimmed = match path {
        [inner @ .., b'/' | b'\\'] if !inner.is_empty() => inner,
        _ => path,
    };
    match memchr::memrchr2(b'/', b'\\', trimmed) {
        Some(at) => &trimmed[at + 1..],
        None => trimmed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_cut_off() {
        for (line, rest) in [
            ("/src/a.c:3:5: error: x", "error: x"),
            ("a.ts(3,5): error TS1: x", "error TS1: x"),
            ("src/a.ts:3:5 - error x", "error x"),
            ("C:\\\\src\\\\a.c:3:5: error: x", "error: x"),
            ("run.sh: line 3: x: command not found", "x: command not found"),
            ("sh: 1: x: not found", "x: not found"),
            ("uploaded: 12", "uploaded: 12"),
            ("psql:a.sql:3: ERROR:  x", "ERROR:  x"),
            ("a.rb:3:in 'call': x (NoMethodError)", "x (NoMethodError)"),
            ("a.c:(.text+0xa): undefined reference to `x'", "undefined reference to `x'"),
            ("/src/A.java:[3,5] cannot find symbol", "cannot find symbol"),
            ("app: main.c:3: f: Assertion failed", "f: Assertion failed"),
            ("error: x", "error: x"),
            ("db.internal:5432: refused", "db.internal:5432: refused"),
            ("fatal: 3 x", "fatal: 3 x"),
        ] {
            let line = line.replace("\\\\", "\\");
            assert_eq!(cut_location(line.as_bytes()).rest, rest.as_bytes(), "{line}");
        }
    }
}
