//! Standard error: an error with its next steps, and notes.

use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};

use super::style;
use crate::error::Error;

/// Tells a person. A failure to do so has nobody left to be told to.
pub(crate) fn error(error: &Error, no_color: bool) {
    if error.is_silent() {
        return;
    }
    let stderr = io::stderr();
    let choice = if no_color { ColorChoice::Never } else { AutoStream::choice(&stderr) };
    let mut out = AutoStream::new(stderr.lock(), choice);
    let (what, next) = (style::ERROR, style::HINT);
    let _ = writeln!(out, "{what}error:{what:#} {error}");
    for hint in error.hints() {
        let _ = writeln!(out, "  {next}hint:{next:#} {hint}");
    }
}

/// Says something by the way, where it does not get into the output.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
