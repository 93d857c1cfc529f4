//! A failure that a runtime reports, and its mapping to a fault.

use std::sync::Arc;

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::attempt::{Approach, SUMMARY_CHARS_MAX};
use unstuck_core::fault::text_rules::{self, RuleSet};
use unstuck_core::fault::{Category, Code, Fault, Kind, Origin};
use unstuck_core::signature::Signature;
use unstuck_core::text::brief::plain_line;
use unstuck_core::time::Span;

use crate::problem::Problem;

/// The source of a failure that names none.
const SOURCE: &str = "session";
/// Maximum length of a source, in characters.
const SOURCE_CHARS_MAX: usize = 200;
/// Maximum length of a fault's message, in bytes: the end of the text, where programs state the
/// error.
const MESSAGE_BYTES_MAX: usize = 4 * 1_024;
/// Maximum number of files of an approach that are named.
const FILES_MAX: usize = 20;

/// A failure: a `code`, or the error's own text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SessionFailure")]
pub(super) struct SessionFailure {
    /// The error code, if it is known: `AUTH_EXPIRED`. `unstuck explain` lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// The name of the error's type: `PermissionError`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// The error message. Without a code it is classified as the output of a failed program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The origin of the failure; the agent's own work by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    /// The place where the failure was raised: `fetch_orders`. The same error in another place
    /// counts separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The goal of this attempt, if it is narrower than the session's goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    goal: Option<String>,
    /// The approach of this attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approach: Option<Tried>,
    /// Seconds that the other side asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
}

/// An approach: in a line, or with the changed files and the number of commands.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ApproachTold")]
enum Tried {
    /// The approach in a line.
    Line(String),
    /// The approach in full.
    Told(SessionApproachDetails),
}

/// An approach in full.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApproachInFull")]
struct SessionApproachDetails {
    /// The approach in a line.
    summary: String,
    /// The files that the attempt changed.
    #[serde(default)]
    files: Vec<String>,
    /// Number of commands that the attempt ran.
    #[serde(default)]
    commands: u32,
}

impl SessionFailure {
    /// Returns the fault of the failure. A code is used as it is; without one, the text is
    /// classified, and a text that no rule recognizes is classified by its origin.
    pub(super) fn to_fault(&self, redacted: impl Fn(&str) -> Arc<str>) -> Result<Fault, Problem> {
        let said = redacted(&self.error_text());
        let source = self.source.as_deref().map(str::trim).filter(|source| !source.is_empty());
        let source =
            plain_line(&redacted(truncate_chars(source.unwrap_or(SOURCE), SOURCE_CHARS_MAX)));
        let code = self.code.as_deref().map(parse_code).transpose()?;
        if code.is_none() && said.trim().is_empty() {
            let detail = "a failure has a `code`, or a `type` and a `message`";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).with_hint(
                "send what your error says as `message`, and the name of its type as `type`",
            ));
        }
        let message = message_tail(&said);
        let origin = self.origin.unwrap_or(Origin::Agent);
        let fault = match (code, text_rules::classify_with(said.as_bytes(), RuleSet::Everything)) {
            (Some(code), _) => {
                let fault = Fault::new(Kind::bare(code), source, message);
                // A bare code has the usual origin of such failures.
                let usual = fault.origin;
                fault.with_origin(self.origin.unwrap_or(usual))
            }
            (None, Some((code, rule))) => {
                let signature = Signature::from_output(code, &source, &said, None);
                let fault =
                    Fault::new(Kind::bare(code), source, message).with_rule(rule, signature);
                fault.with_origin(origin)
            }
            (None, None) => {
                let cause = self.kind.as_deref().map(&redacted);
                Fault::from_unclassified(
                    origin,
                    source,
                    message,
                    cause.as_deref().unwrap_or_default(),
                )
            }
        };
        Ok(match self.retry_after_seconds {
            Some(seconds) => fault.with_retry_after(Span::from_secs(seconds)),
            None => fault,
        })
    }

    /// Returns the type and the message, as a program prints them.
    fn error_text(&self) -> String {
        let message = self.message.as_deref().unwrap_or_default();
        match self.kind.as_deref().map(str::trim).filter(|kind| !kind.is_empty()) {
            Some(kind) if message.is_empty() => kind.to_owned(),
            Some(kind) => format!("{kind}: {message}"),
            None => message.to_owned(),
        }
    }

    /// Returns the approach of the attempt, which may be empty.
    pub(super) fn to_approach(&self, redacted: impl Fn(&str) -> Arc<str>) -> Approach {
        let (summary, files, commands) = match self.approach.as_ref() {
            None => ("", &[][..], 0),
            Some(Tried::Line(summary)) => (summary.as_str(), &[][..], 0),
            Some(Tried::Told(more)) => (more.summary.as_str(), &more.files[..], more.commands),
        };
        let goal = self.goal.as_deref().map(str::trim).filter(|goal| !goal.is_empty());
        let line = match (summary.trim(), goal) {
            (summary, None) => summary.to_owned(),
            ("", Some(goal)) => format!("to reach: {goal}"),
            (summary, Some(goal)) => format!("{summary} (to reach: {goal})"),
        };
        Approach {
            digest: None,
            summary: summary_line(&redacted(&line)),
            files: files.iter().take(FILES_MAX).map(|file| plain_line(&redacted(file))).collect(),
            files_changed: u32::try_from(files.len()).unwrap_or(u32::MAX),
            commands,
            ..Approach::default()
        }
    }
}

/// Shortens an approach to one line.
pub(super) fn summary_line(words: &str) -> String {
    plain_line(truncate_chars(words.trim(), SUMMARY_CHARS_MAX))
}

/// Parses a code, and refuses those about Unstuck itself.
fn parse_code(given: &str) -> Result<Code, Problem> {
    let wrong = |detail: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    let code: Code = given.parse().map_err(|unknown: unstuck_core::fault::UnknownCode| {
        let near: Vec<&str> = unknown.nearest.iter().map(|code| code.as_str()).collect();
        let without = "without a `code`, send `type` and `message`";
        let hint = if near.is_empty() {
            without.to_owned()
        } else {
            format!("did you mean {}? Or {without}", near.join(" or "))
        };
        wrong(format!("there is no code {:?}", truncate_chars(given, SOURCE_CHARS_MAX)))
            .with_hint(hint)
    })?;
    if code.row().category == Category::Internal {
        return Err(wrong(format!("{code} is about Unstuck itself"))
            .with_hint("for a fault of your own runtime send `origin`: `host` with its words"));
    }
    Ok(code)
}

fn truncate_chars(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

fn message_tail(message: &str) -> &str {
    let from = message.len().saturating_sub(MESSAGE_BYTES_MAX);
    &message[message.ceil_char_boundary(from)..]
}
