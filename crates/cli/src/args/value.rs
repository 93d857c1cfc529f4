//! Values as they are written on the command line.

use std::str::FromStr;

use unstuck_core::engine::{BuildId, QuestionId, RunId};
use unstuck_core::time::Span;

/// A length of time: a number with `s`, `m`, `h` or `d`; without one, seconds.
pub(super) fn span(text: &str) -> Result<Span, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err("write a number with s, m, h or d, such as 90s or 2h".to_owned()),
    };
    let number: u64 = text[..text.len() - unit.len()]
        .parse()
        .map_err(|_| "write a number with s, m, h or d, such as 90s or 2h".to_owned())?;
    Ok(Span::from_secs(number.saturating_mul(seconds)))
}

pub(super) fn question(text: &str) -> Result<QuestionId, String> {
    number(text, 'q').map(QuestionId)
}

pub(super) fn run(text: &str) -> Result<RunId, String> {
    number(text, 'r').map(RunId)
}

pub(super) fn build(text: &str) -> Result<BuildId, String> {
    number(text, 'b').map(BuildId)
}

/// A number, with or without the letter that says of what.
fn number<N: FromStr>(text: &str, letter: char) -> Result<N, String> {
    let digits = text.strip_prefix(letter).unwrap_or(text);
    digits.parse().map_err(|_| format!("write its number, such as 3 or {letter}3"))
}
