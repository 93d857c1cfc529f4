//! Folds a text to its meaning: white space becomes one space, colors are removed, and parts that differ from
//! run to run without meaning become a mark.
//!
//! This is not the masking of signatures: a signature groups errors across projects and drops plain numbers;
//! here a changing number is progress and stays. Masked are
//! - everywhere: the worktree's own path, ids (UUID), time stamps, random names below a temporary folder;
//! - in output only: dates, clock times, durations, epoch seconds, addresses, process ids, ephemeral ports,
//!   request ids. In an input those are deliberate: `--timeout 60s` is another action than `--timeout 30s`.
//!
//! Commit hashes stay: another commit is another state.
//!
//! One pass, no allocation; every pattern looks ahead a bounded number of bytes.

/// The kind of text that is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolTextKind {
    /// The input of a tool.
    Input,
    /// The output of a tool.
    Output,
}

/// Maximum length of a file name below a temporary folder.
const NAME_BYTES_MAX: usize = 255;
/// The lowest port that the system assigns.
const EPHEMERAL_PORT_FIRST: u32 = 32_768;
/// Maximum number of units in a duration: days, hours, minutes, seconds.
const DURATION_UNITS_MAX: usize = 4;

const ID: &[u8] = b"<id>";
const TIME: &[u8] = b"<time>";
const SPAN: &[u8] = b"<span>";
const NUMBER: &[u8] = b"<n>";
const TEMPORARY: &[u8] = b"<tmp>";

/// Feeds the folded `text` to `out`, piece by piece. `worktree` is the absolute path of the attempt's own
/// folder, or empty.
pub(super) fn mask_volatile_parts(
    text: &[u8],
    kind: ToolTextKind,
    worktree: &str,
    out: &mut impl FnMut(&[u8]),
) {
    let worktree = worktree.trim_end_matches('/').as_bytes();
    let mut at = 0;
    let mut gap = false;
    let mut begun = false;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        if let Some(length) = match_color_code(rest) {
            at += length;
            continue;
        }
        if byte.is_ascii_whitespace() || byte.is_ascii_control() {
            (at, gap) = (at + 1, true);
            continue;
        }
        if gap && begun {
            out(b" ");
        }
        (gap, begun) = (false, true);
        let before = at.checked_sub(1).and_then(|i| text.get(i)).copied();
        if let Some((length, mark)) = match_volatile(rest, before, kind, worktree) {
            out(mark);
            at += length;
        } else {
            let length = word_len(rest).max(1);
            out(&rest[..length]);
            at += length;
        }
    }
}

/// Returns the length of the volatile part at the start of `rest`, and its replacement.
fn match_volatile(
    rest: &[u8],
    before: Option<u8>,
    kind: ToolTextKind,
    worktree: &[u8],
) -> Option<(usize, &'static [u8])> {
    let inside_word = before.is_some_and(is_word_byte);
    match *rest.first()? {
        b'/' => match_own_path(rest, inside_word, worktree).or_else(|| match_temporary_path(rest)),
        b':' if kind == ToolTextKind::Output => match_port(rest).map(|length| (length, NUMBER)),
        _ if inside_word => None,
        byte if byte.is_ascii_alphanumeric() => match_uuid(rest)
            .map(|length| (length, ID))
            .or_else(|| match_timestamp(rest, kind).map(|length| (length, TIME)))
            .or_else(
                || if kind == ToolTextKind::Output { match_output_volatile(rest) } else { None },
            ),
        _ => None,
    }
}

fn match_output_volatile(rest: &[u8]) -> Option<(usize, &'static [u8])> {
    match_duration(rest)
        .map(|length| (length, SPAN))
        .or_else(|| match_epoch(rest).map(|length| (length, TIME)))
        .or_else(|| match_address(rest).map(|length| (length, NUMBER)))
        .or_else(|| match_process_id(rest).map(|length| (length, NUMBER)))
        .or_else(|| match_request_id(rest).map(|length| (length, ID)))
}

/// Replaces `/the/worktree/src/x` by `src/x`, and the worktree itself by `.`.
fn match_own_path(
    rest: &[u8],
    inside_word: bool,
    worktree: &[u8],
) -> Option<(usize, &'static [u8])> {
    if worktree.is_empty() || inside_word {
        return None;
    }
    let after = rest.strip_prefix(worktree)?;
    match after.first() {
        Some(b'/') if after.get(1).is_some_and(|b| is_word_byte(*b) || *b == b'.') => {
            Some((worktree.len() + 1, b""))
        }
        Some(b'/') => Some((worktree.len() + 1, b".")),
        Some(&byte) if is_word_byte(byte) || byte == b'-' || byte == b'.' => None,
        _ => Some((worktree.len(), b".")),
    }
}

/// Matches the random name in `/tmp/tmp.Xa81kQ/out` or `/var/folders/x/y/T/tmpa83kd`.
fn match_temporary_path(rest: &[u8]) -> Option<(usize, &'static [u8])> {
    let folder = [b"/tmp/".as_slice(), b"/T/"].into_iter().find(|folder| rest.starts_with(folder));
    let folder = folder?.len();
    let name = rest[folder..].iter().take(NAME_BYTES_MAX);
    let length = name.take_while(|b| is_word_byte(**b) || matches!(**b, b'.' | b'-')).count();
    looks_random(&rest[folder..folder + length]).then_some((folder + length, TEMPORARY))
}

/// Returns whether a name looks like one of `mktemp`: `tmp…`, or a part that alternates between lower case,
/// upper case and digits more often than chosen names do.
fn looks_random(name: &[u8]) -> bool {
    let bare = name.strip_prefix(b".").unwrap_or(name);
    if bare.starts_with(b"tmp") && bare.len() >= 7 {
        return true;
    }
    bare.split(|b| matches!(b, b'.' | b'-' | b'_')).any(|part| {
        let changes =
            part.windows(2).filter(|pair| byte_class(pair[0]) != byte_class(pair[1])).count();
        part.len() >= 6 && changes >= 2
    })
}

fn byte_class(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    }
}

fn match_uuid(rest: &[u8]) -> Option<usize> {
    let candidate = rest.get(..36)?;
    let fits = candidate.iter().enumerate().all(|(i, b)| match i {
        8 | 13 | 18 | 23 => *b == b'-',
        _ => b.is_ascii_hexdigit(),
    });
    (fits && ends_word(rest, 36)).then_some(36)
}

/// Matches a date with a clock time; in output also either of them alone.
fn match_timestamp(rest: &[u8], kind: ToolTextKind) -> Option<usize> {
    let compact = fits_pattern(rest, b"99999999T999999");
    if compact {
        let length = 15 + usize::from(rest.get(15) == Some(&b'Z'));
        return ends_word(rest, length).then_some(length);
    }
    let date = fits_pattern(rest, b"9999-99-99") || fits_pattern(rest, b"9999/99/99");
    if !date {
        return if kind == ToolTextKind::Output { match_clock_time(rest) } else { None };
    }
    let with_clock = match rest.get(10) {
        Some(b'T' | b't' | b' ' | b'_') => match_clock_time(&rest[11..]).map(|length| 11 + length),
        _ => None,
    };
    with_clock.or((kind == ToolTextKind::Output && ends_word(rest, 10)).then_some(10))
}

/// Matches `12:34:56`, with optional fraction and zone.
fn match_clock_time(rest: &[u8]) -> Option<usize> {
    if !fits_pattern(rest, b"99:99:99") {
        return None;
    }
    let mut length = 8;
    if matches!(rest.get(8), Some(b'.' | b',')) && count_digits(&rest[9..]) > 0 {
        length = 9 + count_digits(&rest[9..]);
    }
    let zone = &rest[length..];
    length += match zone.first() {
        Some(b'Z' | b'z') => 1,
        Some(b'+' | b'-') if fits_pattern(&zone[1..], b"99:99") => 6,
        Some(b'+' | b'-') if fits_pattern(&zone[1..], b"9999") => 5,
        _ => 0,
    };
    ends_word(rest, length).then_some(length)
}

/// Matches `0.03s`, `12 ms`, `4m12s`, `3 minutes`.
fn match_duration(rest: &[u8]) -> Option<usize> {
    let mut length = 0;
    for _ in 0..DURATION_UNITS_MAX {
        let number = decimal_len(&rest[length..])?;
        let space = usize::from(rest.get(length + number) == Some(&b' '));
        let unit = &rest[length + number + space..];
        let letters = unit.iter().take(8).take_while(|b| b.is_ascii_alphabetic()).count();
        let carries_on = space == 0 && matches!(&unit[..letters], b"d" | b"h" | b"m");
        length += number + space + letters;
        match &unit[..letters] {
            b"ns" | b"us" | b"ms" | b"s" | b"sec" | b"secs" | b"second" | b"seconds" | b"min"
            | b"mins" | b"minute" | b"minutes" | b"hour" | b"hours" => {
                return ends_word(rest, length).then_some(length);
            }
            _ if carries_on => length += usize::from(rest.get(length) == Some(&b' ')),
            _ => return None,
        }
    }
    None
}

/// Matches seconds or milliseconds since the epoch, from 2001 to 2033.
fn match_epoch(rest: &[u8]) -> Option<usize> {
    let length = count_digits(rest);
    (matches!(length, 10 | 13) && rest.first() == Some(&b'1') && ends_word(rest, length))
        .then_some(length)
}

fn match_address(rest: &[u8]) -> Option<usize> {
    let hex = rest.strip_prefix(b"0x")?;
    let length = hex.iter().take(17).take_while(|b| b.is_ascii_hexdigit()).count();
    ((6..=16).contains(&length) && ends_word(rest, 2 + length)).then_some(2 + length)
}

/// Matches `pid 4711`, `PID=4711`, `pid: 4711`.
fn match_process_id(rest: &[u8]) -> Option<usize> {
    let name = rest.get(..3)?.eq_ignore_ascii_case(b"pid").then_some(3)?;
    let between = rest[name..].iter().take(2).take_while(|b| b" =:".contains(b)).count();
    let length = count_digits(&rest[name + between..]);
    (between > 0 && length > 0 && ends_word(rest, name + between + length))
        .then_some(name + between + length)
}

fn match_request_id(rest: &[u8]) -> Option<usize> {
    let id = rest.strip_prefix(b"req_")?;
    let length = id.iter().take(64).take_while(|b| b.is_ascii_alphanumeric()).count();
    (length >= 8).then_some(4 + length)
}

fn match_port(rest: &[u8]) -> Option<usize> {
    let digits = rest.get(1..6)?;
    let port = digits.iter().try_fold(0, |sum, digit| {
        digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'))
    })?;
    ((EPHEMERAL_PORT_FIRST..=65_535).contains(&port) && ends_word(rest, 6)).then_some(6)
}

/// Matches a terminal's control sequence: `ESC [ … letter`.
fn match_color_code(rest: &[u8]) -> Option<usize> {
    let sequence = rest.strip_prefix(b"\x1b[")?;
    let parameters = sequence.iter().take(32).take_while(|b| (0x20..0x40).contains(*b)).count();
    sequence.get(parameters).map(|_| 2 + parameters + 1)
}

/// Returns whether `rest` starts with `pattern`, in which a 9 matches any digit.
fn fits_pattern(rest: &[u8], pattern: &[u8]) -> bool {
    rest.len() >= pattern.len()
        && pattern
            .iter()
            .zip(rest)
            .all(|(p, b)| if *p == b'9' { b.is_ascii_digit() } else { p == b })
}

/// Returns the number of digits at the start of `rest`, at most 20.
fn count_digits(rest: &[u8]) -> usize {
    rest.iter().take(20).take_while(|b| b.is_ascii_digit()).count()
}

fn decimal_len(rest: &[u8]) -> Option<usize> {
    let whole = count_digits(rest);
    let fraction = match rest.get(whole) {
        Some(b'.') => count_digits(&rest[whole + 1..]),
        _ => 0,
    };
    (whole > 0).then_some(if fraction > 0 { whole + 1 + fraction } else { whole })
}

/// Returns whether a word ends after `length` bytes.
fn ends_word(rest: &[u8], length: usize) -> bool {
    !rest.get(length).copied().is_some_and(is_word_byte)
}

fn word_len(rest: &[u8]) -> usize {
    rest.iter().take_while(|b| is_word_byte(**b)).count()
}

/// Returns whether a byte is part of a word. Bytes outside ASCII are letters of some language.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Returns `text` on one line of at most `chars_max` characters; a cut is shown as `…`.
pub(super) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    let mut gap = false;
    for char in text.chars() {
        if char.is_whitespace() || char.is_control() {
            gap = !line.is_empty();
            continue;
        }
        let needed = 1 + usize::from(gap);
        if chars + needed > chars_max {
            if chars == chars_max {
                line.pop();
            }
            line.push('…');
            break;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
        }
        line.push(char);
        chars += needed;
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn folded(text: &str, kind: ToolTextKind) -> String {
        let mut out = Vec::new();
        mask_volatile_parts(text.as_bytes(), kind, "/work/tree/", &mut |piece| {
            out.extend_from_slice(piece);
        });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_varies_without_meaning_becomes_a_mark() {
        let cases = [
            ("  a \t b\r\n\nc ", "a b c"),
            ("\x1b[31mred\x1b[0m text", "red text"),
            ("run 0b6e8d0e-7f2c-4c53-9a0b-5f6a7b8c9d0e.", "run <id>."),
            ("at 2025-03-04T05:06:07.891Z ok", "at <time> ok"),
            ("at 2025-03-04 05:06:07,891 ok", "at <time> ok"),
            ("[05:06:07] ok", "[<time>] ok"),
            ("on 2025/03/04", "on <time>"),
            ("backup-20250304T050607Z.tar", "backup-<time>.tar"),
            ("finished in 0.03s", "finished in <span>"),
            ("took 4m12s, then 12 ms and 3 minutes", "took <span>, then <span> and <span>"),
            ("stamp 1741064767 and 1741064767123", "stamp <time> and <time>"),
            ("at 0x7ffd1234abcd", "at <n>"),
            ("pid 4711 died, PID=12", "<n> died, <n>"),
            ("on 127.0.0.1:54321 and :8080", "on 127.0.0.1<n> and :8080"),
            ("id req_011CSHoEeqs5C35K2UUqR7Fy", "id <id>"),
            ("see /tmp/tmp.Xa81kQ/out", "see <tmp>/out"),
            ("see /var/folders/zz/abc/T/tmpa83kd_x/out", "see /var/folders/zz/abc<tmp>/out"),
            ("open /work/tree/src/a.rs", "open src/a.rs"),
            ("cd /work/tree && ls /work/tree/", "cd . && ls ."),
            ("cat /work/tree/.env", "cat .env"),
        ];
        for (text, expected) in cases {
            assert_eq!(folded(text, ToolTextKind::Output), expected, "{text:?}");
        }
    }

    #[test]
    fn what_means_something_stays() {
        let cases = [
            "3 tests failed",
            "downloaded 42 of 97",
            "67% done",
            "error[E0382]: use of moved value",
            "commit 2f75d5b5aa01",
            "HTTP 429",
            "src/main.rs:12:5",
            "/tmp/build.log",
            "/tmp/fix_imports2.py",
            "/work/treehouse/a",
            "/work/tree-2/a",
            "12345678901234567890123",
            "5 meals, 3 specs",
            "v1.2.3",
        ];
        for text in cases {
            assert_eq!(folded(text, ToolTextKind::Output), text);
        }
    }

    #[test]
    fn in_an_input_a_duration_and_a_date_are_a_choice() {
        for text in ["timeout 60s", "--since 2025-03-04", "--at 12:30:00", "kill 1741064767"] {
            assert_eq!(folded(text, ToolTextKind::Input), text);
        }
        assert_eq!(folded("log-2025-03-04T05:06:07Z", ToolTextKind::Input), "log-<time>");
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_harmless_and_folding_grows_no_text_beyond_its_marks(
            text in prop::collection::vec(any::<u8>(), 0..2_000),
        ) {
            let mut length = 0;
            mask_volatile_parts(&text, ToolTextKind::Output, "/w", &mut |piece| length += piece.len());
            prop_assert!(length <= text.len() * 4);
        }

        #[test]
        fn halves_of_patterns_are_harmless(
            parts in prop::collection::vec(prop::sample::select(vec![
                "/tmp/", "/T/", "tmp.Xa81kQ", "/w", "/w/", "2025-03-04", "T", "12:34:56", ".5", "Z",
                "+02:00", "0x", "7ffd12", "pid", " ", "=", ":", "54321", "4m", "12s", "ms", "req_",
                "0b6e8d0e-7f2c-4c53-9a0b-5f6a7b8c9d0e", "1741064767", "\x1b[", "31m", "ä", "-", ",",
            ]), 0..12),
        ) {
            for kind in [ToolTextKind::Input, ToolTextKind::Output] {
                let mut once = Vec::new();
                mask_volatile_parts(parts.concat().as_bytes(), kind, "/w", &mut |piece| once.extend(piece));
                prop_assert!(!once.contains(&b'\x1b') && !once.ends_with(b" "));
            }
        }

        #[test]
        fn a_clock_is_no_news_and_a_counter_is(
            clocks in prop::array::uniform2((0..24_u8, 0..60_u8, 0..60_u8)), counter in 0..999_u32,
        ) {
            let [one, other] = clocks.map(|(h, m, s)| format!("[{h:02}:{m:02}:{s:02}] step "));
            let shown = |clock: &str, counter| folded(&format!("{clock}{counter}"), ToolTextKind::Output);
            prop_assert_eq!(shown(&one, counter), shown(&other, counter));
            prop_assert_ne!(shown(&one, counter), shown(&one, counter + 1));
        }

        #[test]
        fn amounts_of_white_space_make_no_difference(
            words in prop::collection::vec("[a-z]{1,8}", 1..20),
            gaps in prop::collection::vec("[ \t\r\n]{1,4}", 20),
        ) {
            let spaced: String =
                words.iter().zip(&gaps).flat_map(|(word, gap)| [word.as_str(), gap]).collect();
            prop_assert_eq!(folded(&spaced, ToolTextKind::Output), words.join(" "));
        }
    }

    #[test]
    fn text_is_folded_and_shortened() {
        let cases = [
            ("  a \n b\x07c ", 9, "a b c"),
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abcde…"),
            ("abcde fg", 6, "abcde…"),
            ("äöüß", 3, "äö…"),
            ("", 3, ""),
        ];
        for (text, chars_max, expected) in cases {
            assert_eq!(one_line(text, chars_max), expected, "{text:?}");
            assert!(expected.chars().count() <= chars_max);
        }
    }
}
