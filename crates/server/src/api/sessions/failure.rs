//! A failure as a runtime tells it, and the fault that it is.

use std::sync::Arc;

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::attempt::{Approach, SUMMARY_CHARS_MAX};
use unstuck_core::fault::text_rules::{self, Applies};
use unstuck_core::fault::{Category, Code, Fault, Kind, Origin};
use unstuck_core::signature::Signature;
use unstuck_core::text::brief::plain_line;
use unstuck_core::time::Span;

use crate::problem::Problem;

/// Where a failure is raised that does not say so.
const SOURCE: &str = "session";
/// The longest name of a place.
const SOURCE_CHARS_MAX: usize = 200;
/// How much of a message a fault carries: its end, where programs say what went wrong.
const MESSAGE_BYTES_MAX: usize = 4 * 1_024;
/// How many files of an approach are named.
const FILES_MAX: usize = 20;

/// What failed: a `code`, or the error's own words.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SessionFailure")]
pub(super) struct Failure {
    /// Its code, where it is known: `AUTH_EXPIRED`. `unstuck explain` lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// The name of the error's type: `PermissionError`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// What the error says. Without a code it is read as the output of a failed program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Who raised it; the agent's own work unless it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    /// Where it was raised: `fetch_orders`. The same error in another place counts for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// What this attempt was after, where that is less than the session's goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    goal: Option<String>,
    /// What this attempt did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approach: Option<Tried>,
    /// How long the other side asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
}

/// What an attempt did: in a line, or with the files it changed and the commands it ran.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ApproachTold")]
enum Tried {
    /// In a line.
    Line(String),
    /// In a line, with more.
    Told(TriedMore),
}

/// What an attempt did.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApproachInFull")]
struct TriedMore {
    /// In a line.
    summary: String,
    /// The files it changed.
    #[serde(default)]
    files: Vec<String>,
    /// How many commands it ran.
    #[serde(default)]
    commands: u32,
}

impl Failure {
    /// The fault that it is. A code is taken as it is said; without one, what was written is read,
    /// and what nobody can read is known by who raised it.
    pub(super) fn fault(&self, redacted: impl Fn(&str) -> Arc<str>) -> Result<Fault, Problem> {
        let said = redacted(&self.words());
        let source = self.source.as_deref().map(str::trim).filter(|source| !source.is_empty());
        let source = plain_line(&redacted(cut(source.unwrap_or(SOURCE), SOURCE_CHARS_MAX)));
        let code = self.code.as_deref().map(named).transpose()?;
        if code.is_none() && said.trim().is_empty() {
            let detail = "a failure has a `code`, or a `type` and a `message`";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).hint(
                "send what your error says as `message`, and the name of its type as `type`",
            ));
        }
        let (message, origin) = (tail(&said), self.origin.unwrap_or(Origin::Agent));
        let fault = match (code, text_rules::classify(said.as_bytes(), Applies::Everything)) {
            (Some(code), _) => {
                let fault = Fault::new(Kind::bare(code), source, message);
                // A code that says no more is raised where such failures usually are.
                let usual = fault.origin;
                fault.from_origin(self.origin.unwrap_or(usual))
            }
            (None, Some((code, rule))) => {
                let signature = Signature::of_output(code, &source, &said, None);
                let fault = Fault::new(Kind::bare(code), source, message).by_rule(rule, signature);
                fault.from_origin(origin)
            }
            (None, None) => {
                let cause = self.kind.as_deref().map(&redacted);
                Fault::unclassified(origin, source, message, cause.as_deref().unwrap_or_default())
            }
        };
        Ok(match self.retry_after_seconds {
            Some(seconds) => fault.retry_after(Span::from_secs(seconds)),
            None => fault,
        })
    }

    /// The type and the message, as a program writes them.
    fn words(&self) -> String {
        let message = self.message.as_deref().unwrap_or_default();
        match self.kind.as_deref().map(str::trim).filter(|kind| !kind.is_empty()) {
            Some(kind) if message.is_empty() => kind.to_owned(),
            Some(kind) => format!("{kind}: {message}"),
            None => message.to_owned(),
        }
    }

    /// What the attempt did. One that says nothing is an attempt too.
    pub(super) fn approach(&self, redacted: impl Fn(&str) -> Arc<str>) -> Approach {
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
            summary: did(&redacted(&line)),
            files: files.iter().take(FILES_MAX).map(|file| plain_line(&redacted(file))).collect(),
            files_changed: u32::try_from(files.len()).unwrap_or(u32::MAX),
            commands,
            ..Approach::default()
        }
    }
}

/// What was done, in one short line.
pub(super) fn did(words: &str) -> String {
    plain_line(cut(words.trim(), SUMMARY_CHARS_MAX))
}

/// The code with this name, unless it is about Unstuck itself.
fn named(given: &str) -> Result<Code, Problem> {
    let wrong = |detail: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    let code: Code = given.parse().map_err(|unknown: unstuck_core::fault::UnknownCode| {
        let near: Vec<&str> = unknown.nearest.iter().map(|code| code.as_str()).collect();
        let without = "without a `code`, send `type` and `message`";
        let hint = if near.is_empty() {
            without.to_owned()
        } else {
            format!("did you mean {}? Or {without}", near.join(" or "))
        };
        wrong(format!("there is no code {:?}", cut(given, SOURCE_CHARS_MAX))).hint(hint)
    })?;
    if code.row().category == Category::Internal {
        return Err(wrong(format!("{code} is about Unstuck itself"))
            .hint("for a fault of your own runtime send `origin`: `host` with its words"));
    }
    Ok(code)
}

fn cut(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

fn tail(message: &str) -> &str {
    let from = message.len().saturating_sub(MESSAGE_BYTES_MAX);
    &message[message.ceil_char_boundary(from)..]
}
