//! Errors as programs read them: problem details (RFC 9457).

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::fault::{Category, Code};
use unstuck_store::StoreError;

use crate::desk::Refused;

/// What went wrong with a request: what, where, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// What kind of problem it is, as a link.
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    /// The same for everything of this kind.
    title: Cow<'static, str>,
    /// The status of the response.
    status: u16,
    /// What it is in this case.
    detail: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The failure among all that Unstuck knows, where it is one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    /// Where such failures come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<Category>,
    /// After how many seconds it may be tried again.
    #[serde(skip)]
    retry_after_seconds: Option<u64>,
}

impl Problem {
    /// A problem of a status, told for this case.
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

    /// With its next step.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// As one of the failures that Unstuck knows.
    #[must_use]
    pub fn code(self, code: Code) -> Self {
        Self { code: Some(code), category: Some(code.row().category), ..self }
    }

    /// Not before this many seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after_seconds: Some(seconds), ..self }
    }

    /// There is no such thing, or it is not for the eyes of whoever asks.
    pub fn unknown(what: &str, name: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no {what} {name}"))
    }

    /// The status of the response.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// What it is in this case.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// What it is and what to do next, as a person reads it.
    pub fn sentences(&self) -> String {
        let hint = self.hint.as_deref().map(|hint| format!(" {}", sentence(hint)));
        format!("{}{}", sentence(&self.detail), hint.unwrap_or_default())
    }

    /// What to do next.
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// It begins with a capital letter and ends with a full stop.
pub(crate) fn sentence(text: &str) -> String {
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
            .hint("try again in a moment; `unstuck doctor` says what is wrong with the store")
            .code(Code::InternalStore)
            .retry_after(5)
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotNow(said) => Self::new(StatusCode::CONFLICT, said),
            Refused::KeyReused(said) => Self::new(StatusCode::CONFLICT, said)
                .hint("the same action has the same arguments; give another action another key"),
            Refused::RequestReused(said) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, said)
                .hint("make a new `Idempotency-Key` for each thing you tell, and send it again only with the same words"),
            Refused::Unknown { what, name } => Self::unknown(what, name),
            Refused::Malformed(said) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, said),
            Refused::ChangingHands => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, refused.to_string()).retry_after(1)
            }
            Refused::Fault(fault) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, fault.to_string()).code(fault.code())
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
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
