//! Standard error: an error with its next steps, and notes.

use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;
use unstuck_core::fault::{Category, Code, Fault};

use super::json::json_line;
use super::style;
use crate::build::environment_redactor;
use crate::error::Error;
use crate::problem::Problem;

/// How an error is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Telling {
    /// A program reads it.
    pub(crate) json: bool,
    /// Without colours.
    pub(crate) no_color: bool,
}

/// An error as a program reads it.
#[derive(Serialize)]
struct Told<'a> {
    error: Failure<'a>,
}

#[derive(Serialize)]
struct Failure<'a> {
    message: String,
    /// Absent where nothing failed: the command itself is mistyped.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<Category>,
    /// What the process ends with.
    exit: u8,
    hints: Vec<String>,
    /// What is in the way, with its facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'a Fault>,
    /// Everything that is wrong with files and settings, each with its place.
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

/// Tells whoever started us. A failure to do so has nobody left to be told to.
pub(crate) fn error(error: &Error, telling: Telling) {
    if error.is_silent() {
        return;
    }
    // An error may quote a file or a variable, and a log may keep what is said here.
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
    let (what, next) = (style::ERROR, style::HINT);
    let _ = writeln!(out, "{what}error:{what:#} {}", redactor.text(&error.to_string()));
    for hint in error.hints() {
        let _ = writeln!(out, "  {next}hint:{next:#} {}", redactor.text(&hint));
    }
}

/// Says something by the way, where it does not get into the output.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
