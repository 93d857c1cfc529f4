//! Writes errors with their next steps, and notes, to standard error.

use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;
use unstuck_core::fault::{Category, Code, Fault};

use super::json::write_json_line;
use super::style::{ERROR, HINT};
use crate::error::CliError;
use crate::problem::InputProblem;
use crate::settings::environment_redactor;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorFormat {
    /// JSON, for programs.
    pub(crate) json: bool,
    /// Without colors.
    pub(crate) no_color: bool,
}

#[derive(Serialize)]
struct ErrorEnvelope<'a> {
    error: ErrorPayload<'a>,
}

#[derive(Serialize)]
struct ErrorPayload<'a> {
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
    #[serde(skip_serializing_if = "<[InputProblem]>::is_empty")]
    problems: &'a [InputProblem],
}

impl<'a> ErrorPayload<'a> {
    fn from_error(error: &'a CliError) -> Self {
        let code = error.code();
        let (fault, problems) = match error {
            CliError::Fault(fault) => (Some(&**fault), &[][..]),
            CliError::Problems(problems) | CliError::Arguments(problems) => (None, &problems[..]),
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
pub(crate) fn write_error(error: &CliError, telling: ErrorFormat) {
    if error.is_silent() {
        return;
    }
    // An error may quote a file or a variable, and a log may keep this output.
    let redactor = environment_redactor();
    if telling.json {
        let mut line = Vec::new();
        let _ =
            write_json_line(&mut line, &ErrorEnvelope { error: ErrorPayload::from_error(error) });
        let _ = io::stderr().write_all(&redactor.redact_bytes(&line));
        return;
    }
    let stderr = io::stderr();
    let choice = if telling.no_color { ColorChoice::Never } else { AutoStream::choice(&stderr) };
    let mut out = AutoStream::new(stderr.lock(), choice);
    let _ = writeln!(out, "{ERROR}error:{ERROR:#} {}", redactor.redact_text(&error.to_string()));
    for hint in error.hints() {
        let _ = writeln!(out, "  {HINT}hint:{HINT:#} {}", redactor.redact_text(&hint));
    }
}

/// Writes a note to standard error, which keeps it out of the output.
pub(crate) fn write_note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
