//! Values as they are written on the command line.

use std::str::FromStr;

use unstuck_core::engine::{QuestionId, RunId};
use unstuck_core::time::Span;

use crate::settings::Length;

/// A length of time: a number with `s`, `m`, `h` or `d`; without one, seconds.
pub(super) fn span(text: &str) -> Result<Span, String> {
    Length::read(text).map(|length| length.0)
}

pub(super) fn question(text: &str) -> Result<QuestionId, String> {
    number(text, 'q').map(QuestionId)
}

pub(super) fn run(text: &str) -> Result<RunId, String> {
    number(text, 'r').map(RunId)
}

/// A number, with or without the letter that says of what.
fn number<N: FromStr>(text: &str, letter: char) -> Result<N, String> {
    let digits = text.strip_prefix(letter).unwrap_or(text);
    digits.parse().map_err(|_| format!("write its number, such as 3 or {letter}3"))
}
