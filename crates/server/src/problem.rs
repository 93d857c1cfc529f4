//! Errors of the API as problem details (RFC 9457).

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::fault::{Category, Code};
use unstuck_store::StoreError;

use crate::project_host::ProjectHostError;

/// An error response: what went wrong, where, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// The kind of problem, as a URI.
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    /// The title, which is the same for all problems of this kind.
    title: Cow<'static, str>,
    /// The HTTP status of the response.
    status: u16,
    /// The explanation of this occurrence.
    detail: String,
    /// The next step for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The error code, if it is one that Unstuck knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    /// The category of that error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<Category>,
    /// Seconds until the request may be retried.
    #[serde(skip)]
    retry_after_seconds: Option<u64>,
}

impl Problem {
    /// Makes a problem with a status and an explanation.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: Cow::Borrowed("about:blank"),
            title: Cow::Borrowed(status.canonical_reason().unwrap_or("Problem")),
            status: status.as_u16(),
            detail: detail.into(),
            hint: None,
            code: None,
            category: None,
            retry_after_seconds: None,
        }
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds an error code and its category.
    #[must_use]
    pub fn with_code(self, code: Code) -> Self {
        Self { code: Some(code), category: Some(code.row().category), ..self }
    }

    /// Adds the number of seconds until a retry.
    #[must_use]
    pub fn with_retry_after(self, seconds: u64) -> Self {
        Self { retry_after_seconds: Some(seconds), ..self }
    }

    /// Makes the problem for an object that does not exist, or that the caller may not see.
    pub fn not_found(what: &str, name: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no {what} {name}"))
    }

    /// Returns the HTTP status as a number.
    pub const fn status(&self) -> u16 {
        self.status
    }

    pub(crate) fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns the explanation of this occurrence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the explanation and the next step as sentences for a person.
    pub fn to_sentences(&self) -> String {
        let hint = self.hint.as_deref().map(|hint| format!(" {}", to_sentence(hint)));
        format!("{}{}", to_sentence(&self.detail), hint.unwrap_or_default())
    }

    /// Returns the next step, if there is one.
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Formats a text as a sentence: with a capital letter at the beginning and a full stop at the end.
pub(crate) fn to_sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{stop}", chars.as_str())
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "the store failed");
        let detail = "what is remembered could not be read or written just now";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
            .with_hint("try again in a moment; `unstuck doctor` says what is wrong with the store")
            .with_code(Code::InternalStore)
            .with_retry_after(5)
    }
}

impl From<ProjectHostError> for Problem {
    fn from(refused: ProjectHostError) -> Self {
        match refused {
            ProjectHostError::NotNow(said) => Self::new(StatusCode::CONFLICT, said),
            ProjectHostError::KeyReused(said) => Self::new(StatusCode::CONFLICT, said)
                .with_hint("the same action has the same arguments; give another action another key"),
            ProjectHostError::RequestReused(said) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, said)
                .with_hint("make a new `Idempotency-Key` for each thing you tell, and send it again only with the same words"),
            ProjectHostError::Unknown { what, name } => Self::not_found(what, name),
            ProjectHostError::Malformed(said) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, said),
            ProjectHostError::ChangingHands => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, refused.to_string()).with_retry_after(1)
            }
            ProjectHostError::Fault(fault) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, fault.to_string()).with_code(fault.code())
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status_code();
        let retry_after = self.retry_after_seconds;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
