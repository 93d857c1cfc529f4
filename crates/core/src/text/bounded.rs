//! Foreign text: cut to a length, without control characters, quoted line by line; and the characters that no
//! line should contain.

/// Maximum length of a message, of which the first lines and the tail are kept.
const MESSAGE_BYTES_MAX: usize = 4 * 1_024;
/// Length kept of the beginning of a message that is too long: it often names the command.
const MESSAGE_HEAD_BYTES: usize = 512;
/// Maximum number of accents on a letter; more of them cover the lines around it.
pub(super) const MARKS_MAX: u32 = 2;

/// Returns the beginning and the tail of a message: the beginning names what ran, the end how it failed.
pub(crate) fn head_and_tail(message: &str) -> String {
    let message = strip_control(message);
    let message = message.trim_end();
    if message.len() <= MESSAGE_BYTES_MAX {
        return message.to_owned();
    }
    let head = &message[..message.floor_char_boundary(MESSAGE_HEAD_BYTES)];
    let from = message.ceil_char_boundary(message.len() - (MESSAGE_BYTES_MAX - MESSAGE_HEAD_BYTES));
    let rest = &message[from..];
    // Start at a full line, unless the tail is a single endless line.
    let rest = rest
        .split_once('\n')
        .map_or(rest, |(_, lines)| if lines.is_empty() { rest } else { lines });
    format!("{head}\n[… {} bytes left out …]\n{rest}", message.len() - head.len() - rest.len())
}

pub(crate) fn quote_lines(message: &str) -> String {
    // Blank lines are left out: a message of nothing else would grow by the bars in front of them.
    let lines: Vec<&str> =
        message.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "| (no output)".to_owned() } else { format!("| {}", lines.join("\n| ")) }
}

/// Cuts a text to a length, and notes the cut in it.
pub(crate) fn cut_text(text: &str, bytes_max: usize) -> String {
    cut_plain(&strip_control(text), bytes_max)
}

pub(crate) fn cut_plain(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(bytes_max)];
    format!("{kept}\n[… {} bytes left out …]", text.len() - kept.len())
}

pub(crate) fn one_line(text: &str, bytes_max: usize) -> String {
    let bounded = &text[..text.floor_char_boundary(bytes_max.saturating_mul(2))];
    let line = strip_control(bounded).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() <= bytes_max {
        return line;
    }
    format!("{}…", &line[..line.floor_char_boundary(bytes_max)])
}

/// Returns a text without color codes and other control characters; newlines and tabs stay.
pub(crate) fn strip_control(text: &str) -> String {
    let mut text = strip_escapes(text);
    text.retain(|sign| matches!(sign, '\n' | '\t') || !sign.is_control());
    text
}

/// Returns a text without the escape sequences of a terminal.
pub fn strip_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\u{1b}' => skip_escape(&mut signs),
            _ => out.push(sign),
        }
    }
    out
}

/// Skips the rest of a terminal's escape sequence: `[31m`, a window's title, or a single character.
fn skip_escape(signs: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if signs.next_if_eq(&']').is_some() {
        while signs.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {}
        return;
    }
    if signs.next_if_eq(&'[').is_some() {
        while signs.next_if(|c| c.is_ascii_digit() || matches!(c, ';' | '?' | ':')).is_some() {}
        let _ = signs.next_if(char::is_ascii_alphabetic);
    }
}

/// Returns whether a character is invisible or changes the writing direction. Joiners are needed by some
/// scripts.
pub(super) const fn is_hidden(sign: char) -> bool {
    matches!(sign,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffd}' | '\u{e0000}'..='\u{10ffff}')
}

/// Returns whether a character is an accent on the letter before it.
pub(super) const fn is_mark(sign: char) -> bool {
    matches!(sign, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20f0}')
}
