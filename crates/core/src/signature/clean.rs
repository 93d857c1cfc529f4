//! Conversion of foreign bytes to plain lines: bounded, without colors, control characters and log prefixes.
//!
//! No line is judged here. For any input, the work is linear in the kept bytes, and their number is bounded.

use std::borrow::Cow;

/// Number of bytes read from the beginning of an output, where tools state the first cause.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Number of bytes read from the end of an output, where tools summarize.
pub const TAIL_BYTES_MAX: usize = 192 * 1024;

/// Maximum number of bytes read of a line; a longer one is data, not a message.
pub const LINE_BYTES_MAX: usize = 4 * 1024;

const ESCAPE: u8 = 0x1b;

/// Returns the readable text of an output: head and tail, no escape sequences, typographic marks as ASCII.
///
/// Most outputs are plain ASCII and are returned unchanged.
pub(crate) fn clean_output(output: &[u8]) -> Cow<'_, [u8]> {
    let output = keep_head_and_tail(output);
    if output.is_ascii() && memchr::memchr3(ESCAPE, b'\r', 0, &output).is_none() {
        return output;
    }
    Cow::Owned(scrub_output(&output))
}

/// Returns the head and the tail of a huge output.
fn keep_head_and_tail(output: &[u8]) -> Cow<'_, [u8]> {
    if output.len() <= HEAD_BYTES_MAX + TAIL_BYTES_MAX {
        return Cow::Borrowed(output);
    }
    let mut kept = Vec::with_capacity(HEAD_BYTES_MAX + TAIL_BYTES_MAX + 1);
    kept.extend_from_slice(&output[..HEAD_BYTES_MAX]);
    kept.push(b'\n');
    kept.extend_from_slice(&output[output.len() - TAIL_BYTES_MAX..]);
    Cow::Owned(kept)
}

fn scrub_output(output: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(output.len());
    let mut rest = output;
    while let Some(&byte) = rest.first() {
        let taken = match byte {
            ESCAPE => escape_len(rest),
            b'\r' if rest.get(1) == Some(&b'\n') => 1,
            // A carriage return restarts the line on a terminal: a new line follows.
            b'\r' => {
                text.push(b'\n');
                1
            }
            b'\n' | b'\t' => {
                text.push(byte);
                1
            }
            0..=0x1f | 0x7f => 1,
            0x20..=0x7e => {
                let run = plain_run_len(rest);
                text.extend_from_slice(&rest[..run]);
                run
            }
            _ => push_ascii_mark(rest, &mut text),
        };
        rest = &rest[taken..];
    }
    text
}

fn plain_run_len(text: &[u8]) -> usize {
    text.iter().position(|b| !(0x20..=0x7e).contains(b)).unwrap_or(text.len())
}

/// Returns the length of an escape sequence: colors, cursor movement, window titles, hyperlinks.
fn escape_len(text: &[u8]) -> usize {
    match text.get(1) {
        Some(b'[') => {
            let parameters = text[2..].iter().take_while(|b| (0x20..=0x3f).contains(*b)).count();
            // An unfinished sequence ends at the end of the line, so that no text is swallowed.
            let last = usize::from(text.get(2 + parameters).is_some_and(|b| *b >= 0x40));
            2 + parameters + last
        }
        Some(b']') => {
            let body = &text[2..text.len().min(LINE_BYTES_MAX)];
            match memchr::memchr3(0x07, ESCAPE, b'\n', body) {
                Some(end) if body[end] == 0x07 => 2 + end + 1,
                Some(end) if body[end] == ESCAPE && body.get(end + 1) == Some(&b'\\') => {
                    2 + end + 2
                }
                Some(end) => 2 + end,
                None => 2,
            }
        }
        Some(b'(' | b')') => text.len().min(3),
        Some(0x40..=0x7e) => 2,
        _ => 1,
    }
}

/// Writes the ASCII equivalent of a typographic mark, or the character itself; returns its length.
fn push_ascii_mark(text: &[u8], into: &mut Vec<u8>) -> usize {
    let (ascii, len): (&[u8], usize) = match text {
        // Single, double and angled quotation marks.
        [0xe2, 0x80, 0x98..=0x9b, ..] => (b"'", 3),
        [0xe2, 0x80, 0x9c..=0x9f, ..] => (b"\"", 3),
        [0xc2, 0xab | 0xbb, ..] => (b"\"", 2),
        // Dashes and drawn lines, the ellipsis and the spaces that are not plain.
        [0xe2, 0x80, 0x90..=0x95, ..] | [0xe2, 0x94, 0x80 | 0x81 | 0x84 | 0x85, ..] => (b"-", 3),
        [0xe2, 0x80, 0xa6, ..] => (b"...", 3),
        [0xc2, 0xa0, ..] => (b" ", 2),
        [0xe2, 0x80, 0xaf, ..] => (b" ", 3),
        // Zero-width marks and the byte order mark.
        [0xe2, 0x80, 0x8b..=0x8f, ..]
        | [0xef, 0xbb, 0xbf, ..]
        // A pointer before a line of a build.
        | [0xe2, 0x96, 0xb8, ..] => (b"", 3),
        // Box drawing: frames around messages, and source gutters.
        [0xe2, 0x94 | 0x95, _, ..] => (b"|", 3),
        // The marks of test runners and linters: crosses, a bullet, a tick, a pointer.
        [0xe2, 0x9c, 0x95..=0x98, ..] => (b"X ", 3),
        [0xc3, 0x97, ..] => (b"x ", 2),
        // Crosses, stops and bombs that tools print before a failure.
        [0xe2, 0x9d, 0x8c, ..] | [0xe2, 0xa8, 0xaf, ..] | [0xe2, 0x9b, 0x94, ..] => (b"x ", 3),
        [0xf0, 0x9f, 0x92, 0xa3 | 0xa5, ..] => (b"x ", 4),
        [0xe2, 0x97, 0x8f, ..] => (b"* ", 3),
        [0xe2, 0x9c, 0x93 | 0x94, ..] => (b"ok ", 3),
        [0xe2, 0x80, 0xba, ..] | [0xe2, 0x9d, 0xaf, ..] | [0xe2, 0x96, 0xb6 | 0xba, ..] => {
            (b">", 3)
        }
        _ => (&text[..1], 1),
    };
    into.extend_from_slice(ascii);
    len.min(text.len())
}

/// Strips the prefixes of log collectors, CI systems and container runtimes from a line.
pub(crate) fn strip_log_prefixes(line: &[u8]) -> &[u8] {
    let mut rest = line;
    // A line can pass through several collectors.
    for _ in 0..3 {
        let next = strip_log_prefix(rest);
        if next.len() == rest.len() {
            break;
        }
        rest = next;
    }
    rest
}

fn strip_log_prefix(line: &[u8]) -> &[u8] {
    match line {
        [b'0'..=b'9', ..] => after_seconds(line).unwrap_or_else(|| after_timestamp(line)),
        [b'[' | b'(', b'0'..=b'9', ..] => {
            let rest = after_timestamp(&line[1..]);
            match rest {
                [b']' | b')', b' ', rest @ ..] | [b']', b':', b' ', rest @ ..]
                    if rest.len() + 10 < line.len() =>
                {
                    rest
                }
                _ => line,
            }
        }
        [b'#', b'#', b'[', ..] => match memchr::memchr(b']', line) {
            Some(end) if end < 16 => &line[end + 1..],
            _ => line,
        },
        [b'#', b'0'..=b'9', ..] => after_build_step(line),
        [
            b'E' | b'F' | b'W' | b'I',
            b'0'..=b'9',
            b'0'..=b'9',
            b'0'..=b'9',
            b'0'..=b'9',
            b' ',
            ..,
        ] => after_klog(line),
        [b'A' | b'D' | b'F' | b'J' | b'M' | b'N' | b'O' | b'S', _, _, b' ', ..] => {
            after_syslog(line)
        }
        [b't', b'i', b'm', b'e', b'=', ..] => match memchr::memchr(b' ', line) {
            Some(end) => &line[end + 1..],
            None => line,
        },
        _ => line,
    }
}

/// Strips a timestamp: `2026-11-15T03:32:29.076Z text`, `2026/11/15 03:32:29 text`, `03:32:29,123 text`.
fn after_timestamp(line: &[u8]) -> &[u8] {
    let stamp = |b: &u8| {
        b.is_ascii_digit() || matches!(b, b'-' | b':' | b'.' | b',' | b'/' | b'T' | b'Z' | b'+')
    };
    let mut end = line.iter().position(|b| !stamp(b)).unwrap_or(line.len());
    let mut colons = memchr::memchr_iter(b':', &line[..end]).count();
    let dashes = line[..end].iter().filter(|b| matches!(b, b'-' | b'/')).count();
    if colons < 2 && dashes == 2 && line.get(end) == Some(&b' ') {
        let time = &line[end + 1..];
        let len = time.iter().position(|b| !stamp(b)).unwrap_or(time.len());
        colons = memchr::memchr_iter(b':', &time[..len]).count();
        end += 1 + len;
    }
    // A location such as `12:5:` has two colons as well; a time has two digits before each.
    let is_time = colons >= 2
        && memchr::memchr(b':', line).is_some_and(|at| at >= 2 && line[at - 2].is_ascii_digit());
    match line.get(end) {
        Some(b' ') if is_time && end >= 8 => &line[end + 1..],
        Some(b']' | b')') if is_time && end >= 8 => &line[end..],
        _ => line,
    }
}

/// Strips the seconds that image builders print when they repeat the failed step: `0.345 text`.
fn after_seconds(line: &[u8]) -> Option<&[u8]> {
    let digits = line.iter().take(5).take_while(|b| b.is_ascii_digit()).count();
    match &line[digits..] {
        [b'.', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b' ', text @ ..] => Some(text),
        _ => None,
    }
}

/// Strips the step of image builders: `#12 0.345 text`.
fn after_build_step(line: &[u8]) -> &[u8] {
    let digits = line[1..].iter().take_while(|b| b.is_ascii_digit()).count();
    match &line[1 + digits..] {
        [b' ', rest @ ..] => {
            let seconds = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
            match &rest[seconds..] {
                [b' ', text @ ..] if seconds > 0 => text,
                _ => rest,
            }
        }
        _ => line,
    }
}

/// Strips a klog prefix: `E1115 03:32:29.123456   12345 file.go:123] text`.
fn after_klog(line: &[u8]) -> &[u8] {
    match memchr::memchr(b']', line) {
        Some(end) if end < 80 && line.get(end + 1) == Some(&b' ') => &line[end + 2..],
        _ => line,
    }
}

/// Strips a syslog prefix: `Nov 15 03:32:29 host program[123]: text`.
fn after_syslog(line: &[u8]) -> &[u8] {
    let is_time = line.get(4..15).is_some_and(|part| {
        part[5] == b':' && part[8] == b':' && part[1].is_ascii_digit() && part[3].is_ascii_digit()
    });
    if !is_time {
        return line;
    }
    match memchr::memmem::find(line, b"]: ") {
        Some(end) if end < 100 => &line[end + 3..],
        _ => line.get(16..).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_marks_become_plain_text() {
        let text = "\u{1b}[1;31merror\u{1b}[0m: \u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7} \u{2018}a\u{2019}\r\nb\rc\0";
        assert_eq!(&*clean_output(text.as_bytes()), b"error: link 'a'\nb\nc");
        assert_eq!(&*clean_output(b"\x1b[31"), b"");
        assert_eq!(&*clean_output("\u{2502} x".as_bytes()), b"| x");
    }

    #[test]
    fn log_prefixes_are_cut_off() {
        for line in [
            "2026-11-15T03:32:29.0764564Z error: x",
            "2026-11-15 03:32:29,123 error: x",
            "2026/11/15 03:32:29 error: x",
            "[2026-11-15 03:32:29] error: x",
            "03:32:29 error: x",
            "#12 0.345 error: x",
            "##[error]error: x",
            "E1115 03:32:29.123456   12345 file.go:123] error: x",
            "Nov 15 03:32:29 host app[123]: error: x",
        ] {
            assert_eq!(strip_log_prefixes(line.as_bytes()), b"error: x", "{line}");
        }
        for line in ["12:5  error  x", "404 Not Found", "2 errors", "[12] x", "1) a test"] {
            assert_eq!(strip_log_prefixes(line.as_bytes()), line.as_bytes());
        }
    }
}
