//! Reports of a runtime about its work: success, or a failure and its mapping to a fault.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::attempt::{Approach, SUMMARY_CHARS_MAX};
use unstuck_core::engine::{Command, SessionReport};
use unstuck_core::fault::text_rules::{self, RuleSet};
use unstuck_core::fault::{Category, Code, Fault, Kind, Origin};
use unstuck_core::signature::Signature;
use unstuck_core::text::brief::plain_line;
use unstuck_core::time::Span;

use super::record::{ApiSessionDirection, ApiSessionTask, SessionRecord};
use crate::api::docs::{ApiOperation, ApiRouter};
use crate::api::request::{self, ApiJsonBody, ApiOptionalBody};
use crate::api::resolve::{ApiProjectQuery, ApiProjectRequest};
use crate::problem::Problem;
use crate::project_host::ProjectHostError;
use crate::server_state::HostedProject;

/// The source of a failure that names none.
const SOURCE: &str = "session";
const SOURCE_CHARS_MAX: usize = 200;
/// Maximum length of a fault's message, in bytes: the end of the text, where programs state the
/// error.
const MESSAGE_BYTES_MAX: usize = 4 * 1_024;
/// Maximum number of files of an approach that are named.
const FILES_MAX: usize = 20;

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    let gone = "There is no such session.";
    let unsettled = "An action was sent, and what came of it was not told.";
    api.add_operation(
        ApiOperation::post(
            "/api/v1/sessions/{session}/failures",
            "reportFailure",
            "The work failed: what is to be done now?",
        )
        .with_request_key(true)
        .with_query::<ApiProjectQuery>()
        .with_body::<SessionFailure>()
        .with_response::<ApiSessionDirection>(200, "What to do now.")
        .with_problem(StatusCode::NOT_FOUND, gone)
        .with_problem(StatusCode::CONFLICT, unsettled)
        .with_problem(
            StatusCode::UNPROCESSABLE_ENTITY,
            "It does not say what failed, or the key was sent with something else.",
        ),
        post(report_failure),
    )
    .add_operation(
        ApiOperation::post(
            "/api/v1/sessions/{session}/success",
            "reportSuccess",
            "The goal is reached",
        )
        .with_query::<ApiProjectQuery>()
        .with_body::<SessionSuccess>()
        .with_response::<SessionRecord>(200, "The session, which is over.")
        .with_problem(StatusCode::NOT_FOUND, gone)
        .with_problem(StatusCode::CONFLICT, "It is not its turn, or an action is not settled."),
        post(report_success),
    )
}

/// A report of success.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "SessionSuccess")]
struct SessionSuccess {
    /// The work that was done, in a line.
    summary: Option<String>,
}

async fn report_failure(
    at: ApiProjectRequest,
    Path(session): Path<String>,
    ApiJsonBody(failure): ApiJsonBody<SessionFailure>,
) -> Result<Json<ApiSessionDirection>, Problem> {
    let request = request::require_request_key(&at.headers, "failure", &failure)?;
    let ApiSessionTask { task } = ApiSessionTask::find_by_name(&at.project, &session).await?;
    let redacted = |text: &str| at.project.host.redact_text(text);
    let fault = Arc::new(failure.to_fault(redacted)?);
    let approach = Some(Arc::new(failure.to_approach(redacted)));
    // A report about a session that is over costs nothing; the engine may no longer have the
    // session.
    if !task.moved.state.has_ended() {
        let told = SessionReport::Failed { request, fault, approach };
        submit_report(&at.project, &session, Command::Report { task: task.id, told }).await?;
    }
    ApiSessionDirection::load_for_task(&at.project, &task).await.map(Json)
}

async fn report_success(
    at: ApiProjectRequest,
    Path(session): Path<String>,
    ApiOptionalBody(success): ApiOptionalBody<SessionSuccess>,
) -> Result<Json<SessionRecord>, Problem> {
    let ApiSessionTask { task } = ApiSessionTask::find_by_name(&at.project, &session).await?;
    let summary = success.summary.as_deref().unwrap_or_default();
    let approach = Approach {
        summary: summary_line(&at.project.host.redact_text(summary)),
        ..Approach::default()
    };
    if !task.moved.state.has_ended() {
        let told = SessionReport::Done { approach: Arc::new(approach) };
        submit_report(&at.project, &session, Command::Report { task: task.id, told }).await?;
    }
    let record =
        ApiSessionTask::find_by_name(&at.project, &session).await?.into_record(&at.project).await?;
    record.require_done().map(Json)
}

async fn submit_report(
    hosted: &HostedProject,
    session: &str,
    command: Command,
) -> Result<(), Problem> {
    match hosted.host.submit_command(command).await {
        Ok(_) => Ok(()),
        Err(refused @ ProjectHostError::NotNow(_)) => {
            let hint = format!(
                "say first what became of it: `PATCH /api/v1/sessions/{session}/mutations/KEY`"
            );
            Err(Problem::from(refused).with_hint(hint))
        }
        Err(refused) => Err(refused.into()),
    }
}

/// A failure: a `code`, or the error's own text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SessionFailure")]
struct SessionFailure {
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
    approach: Option<ApproachReport>,
    /// Seconds that the other side asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
}

/// An approach: in a line, or with the changed files and the number of commands.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ApproachTold")]
enum ApproachReport {
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
    fn to_fault(&self, redacted: impl Fn(&str) -> Arc<str>) -> Result<Fault, Problem> {
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
    fn to_approach(&self, redacted: impl Fn(&str) -> Arc<str>) -> Approach {
        let (summary, files, commands) = match self.approach.as_ref() {
            None => ("", &[][..], 0),
            Some(ApproachReport::Line(summary)) => (summary.as_str(), &[][..], 0),
            Some(ApproachReport::Told(more)) => {
                (more.summary.as_str(), &more.files[..], more.commands)
            }
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

fn summary_line(words: &str) -> String {
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
