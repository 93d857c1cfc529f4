//! The text styles, and the wrapping of text to a width. A style only repeats a meaning that the text has
//! too: no information is in color alone.

// Writing to a string cannot fail, so the result is ignored.
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use unstuck_core::engine::Event;

/// A heading.
pub(crate) const TITLE: Style = Style::new().bold();
/// A code, a command, a literal.
pub(crate) const CODE: Style = AnsiColor::Cyan.on_default();
/// Emphasized text.
pub(crate) const STRONG: Style = Style::new().bold();
/// Text of less interest.
pub(crate) const DIM: Style = Style::new().dimmed();
/// The message of an error.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// A next step.
pub(crate) const HINT: Style = AnsiColor::Green.on_default().bold();

/// Returns the sign in front of an event's line; it only repeats the sentence.
pub(crate) const fn event_mark(event: &Event) -> (&'static str, Style) {
    match event {
        Event::TaskDone { unchanged: Some(_), .. } => ("–", DIM),
        Event::TaskDone { .. } | Event::BuildCompleted { .. } => ("✔", HINT),
        Event::Retrying { .. } | Event::FaultMet { .. } => ("↻", CODE),
        Event::QuestionAsked { .. } | Event::QuestionJoined { .. } => ("⏸", ERROR),
        Event::GateWaiting { .. } | Event::TaskBackingOff { .. } | Event::Sleeping { .. } => {
            ("◷", CODE)
        }
        Event::TaskSkipped { .. } | Event::TaskFailed { .. } => ("✘", ERROR),
        Event::TaskReconciling { .. } | Event::MutationReconciled { .. } => ("?", CODE),
        _ => ("▸", DIM),
    }
}

/// Text in one style.
pub(super) type StyledPiece = (Style, String);

/// Wraps plain text to lines of at most `width` columns, all of which begin at `column`.
pub(crate) fn wrap_text(text: &str, column: usize, width: usize) -> String {
    wrap_pieces(&[(Style::new(), text.to_owned())], column, width)
}

/// Returns the number of columns that the pieces take on one line.
pub(super) fn pieces_width(pieces: &[StyledPiece]) -> usize {
    pieces.iter().map(|(_, text)| text.chars().count()).sum()
}

/// Wraps the text to lines of at most `width` columns; the first begins at `column`, and the others are
/// indented to it.
pub(super) fn wrap_pieces(pieces: &[StyledPiece], column: usize, width: usize) -> String {
    let mut out = String::new();
    let mut at = column;
    for word in split_words(pieces) {
        let long: usize = word.iter().map(|(_, text)| text.chars().count()).sum();
        if at > column && at + 1 + long > width {
            let _ = write!(out, "\n{:column$}", "");
            at = column;
        } else if at > column {
            out.push(' ');
            at += 1;
        }
        at += long;
        for (style, text) in word {
            let _ = write!(out, "{style}{text}{style:#}");
        }
    }
    out
}

/// Splits the pieces into words, each in one or more styles: a comma after a literal belongs to its word.
fn split_words(pieces: &[StyledPiece]) -> Vec<Vec<(Style, &str)>> {
    let mut words = Vec::new();
    let mut word = Vec::new();
    for (style, text) in pieces {
        for (number, part) in text.split(' ').enumerate() {
            if number > 0 && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if !part.is_empty() {
                word.push((*style, part));
            }
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}
