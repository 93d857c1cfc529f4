//! Writes errors with their next steps, and notes, to standard error.

use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;
use unstuck_core::fault::{Category, Code, Fault};

use super::json::json_line;
use super::style;
use crate::build::environment_redactor;
use crate::error::Error;
use crate::problem::Problem;

/// The form in which an error is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Telling {
    /// JSON, for programs.
    pub(crate) json: bool,
    /// Without colors.
    pub(crate) no_color: bool,
}

/// An error in the form that programs read.
#[derive(Serialize)]
struct Told<'a> {
    error: Failure<'a>,
}

#[derive(Serialize)]
struct Failure<'a> {
    message: String,
    /// Absent for a mistyped command, because nothing failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<Category>,
    /// The exit code of the process.
    exit: u8,
    hints: Vec<String>,
    /// The fault that prevents the command, with its facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'a Fault>,
    /// All mistakes in files and settings, each with its position.
    #[serde(skip_serializing_if = "<[Problem]>::is_empty")]
    problems: &'a [Problem],
}

impl<'a> Failure<'a> {
    fn of(error: &'a Error) -> Self {
        let code = error.code();
        let (fault, problems) = match error {
            Error::Fault(fault) => (Some(&**fault), &[][..]),
            Error::Problems(problems) => (None, &problems[..]),
            _ => (None, &[][..]),
        };
        Self {
            message: error.to_string(),
            code,
            category: code.map(|code| code.row().category),
            exit: error.exit().number(),
            hints: error.hints(),
            fault,
            problems,
        }
    }
}

/// Writes an error to standard error. A failure to write is ignored, because it cannot be reported
/// anywhere.
pub(crate) fn error(error: &Error, telling: Telling) {
    if error.is_silent() {
        return;
    }
    // An error may quote a file or a variable, and a log may keep this output.
    let redactor = environment_redactor();
    if telling.json {
        let mut line = Vec::new();
        let _ = json_line(&mut line, &Told { error: Failure::of(error) });
        let _ = io::stderr().write_all(&redactor.bytes(&line));
        return;
    }
    let stderr = io::stderr();
    let choice = if telling.no_color { ColorChoice::Never } else { AutoStream::choice(&stderr) };
    let mut out = AutoStream::new(stderr.lock(), choice);
    let what = style::ERROR;
    let next = style::HINT;
    let _ = writeln!(out, "{what}error:{what:#} {}", redactor.text(&error.to_string()));
    for hint in error.hints() {
        let _ = writeln!(out, "  {next}hint:{next:#} {}", redactor.text(&hint));
    }
}

/// Writes a note to standard error, which keeps it out of the output.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
