//! The parts of the wire format that both dialects share: tools, usage and errors, also those of
//! compatible services.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unstuck_core::time::{Span, Time};

use super::super::http::{ProblemClass, ProviderProblem, ResponseHead};
use crate::agent::Usage;
use crate::model::ToolSpec;

/// The definition of a tool.
#[derive(Serialize)]
pub(super) struct OpenAiFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> OpenAiFunction<'a> {
    pub(super) const fn new(spec: &'a ToolSpec) -> Self {
        Self { name: spec.name, description: spec.description, parameters: &spec.input }
    }
}

/// Marks the output of a failed call, because the format has no field for that.
pub(super) fn mark_failed(output: &str, failed: bool) -> Cow<'_, str> {
    if failed { Cow::Owned(format!("[failed]\n{output}")) } else { Cow::Borrowed(output) }
}

/// The usage of a turn, under the names of either dialect.
#[derive(Deserialize)]
pub(super) struct OpenAiUsage {
    #[serde(default, alias = "prompt_tokens")]
    input_tokens: u64,
    #[serde(default, alias = "completion_tokens")]
    output_tokens: u64,
    #[serde(alias = "prompt_tokens_details")]
    input_tokens_details: Option<OpenAiTokenDetails>,
}

#[derive(Deserialize)]
struct OpenAiTokenDetails {
    cached_tokens: Option<u64>,
}

impl OpenAiUsage {
    pub(super) fn to_usage(&self) -> Usage {
        let details = self.input_tokens_details.as_ref();
        let cached_tokens = details.and_then(|details| details.cached_tokens).unwrap_or(0);
        Usage {
            input_tokens: self.input_tokens.saturating_sub(cached_tokens),
            output_tokens: self.output_tokens,
            cached_tokens,
            ..Usage::default()
        }
    }
}

pub(super) fn classify_refusal(head: &ResponseHead, body: &[u8]) -> ProviderProblem {
    let body: Value = serde_json::from_slice(body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()));
    let error = body.get("error").unwrap_or(&body);
    let mut problem = classify_error(error, ProblemClass::from_status(Some(head.status)));
    if problem.error_type.is_none() {
        problem.message = format!("status {}: {}", head.status, problem.message);
    }
    problem.retry_after = problem.retry_after.or_else(|| head.retry_after());
    problem.resets_at = problem.resets_at.or_else(|| head.retry_at());
    problem
}

/// Classifies an error inside a stream, where there is no status any more.
pub(super) fn classify_stream_error(error: &Value) -> ProviderProblem {
    let trouble = match error_kind(error) {
        Some("server_error" | "internal_server_error" | "api_error") => ProblemClass::Service,
        Some("invalid_request_error") => ProblemClass::Rejected,
        Some("authentication_error" | "permission_error") => ProblemClass::Credentials,
        _ => ProblemClass::Unknown,
    };
    let trouble = match error_code(error) {
        Some("server_error") => ProblemClass::Service,
        _ => trouble,
    };
    classify_error(error, trouble)
}

/// Classifies an error by its type and code, and otherwise as `otherwise`.
fn classify_error(error: &Value, otherwise: ProblemClass) -> ProviderProblem {
    // vLLM has no code for a conversation that is too long; it names the parameter.
    let too_long = (error["param"] == "input_tokens").then_some(ProblemClass::ContextTooLong);
    let named = || error_kind(error).and_then(classify_name);
    let trouble = error_code(error).and_then(classify_name).or_else(named).or(too_long);
    let message = error["message"]
        .as_str()
        .or(error.as_str())
        .map_or_else(|| error.to_string(), ToOwned::to_owned);
    let name = error_code(error).or(error_kind(error));
    let mut problem = match name {
        Some(name) => {
            ProviderProblem::new(trouble.unwrap_or(otherwise), format!("{name}: {message}"))
        }
        None => ProviderProblem::new(trouble.unwrap_or(otherwise), message),
    };
    problem.error_type = name.map(ToOwned::to_owned);
    if problem.trouble == ProblemClass::RateLimit {
        let limited = error_kind(error).filter(|kind| matches!(*kind, "requests" | "tokens"));
        problem.limited = limited.map(ToOwned::to_owned);
    }
    if problem.trouble == ProblemClass::UsageLimit {
        problem.limited = error["plan_type"].as_str().map(ToOwned::to_owned);
        problem.retry_after = error["resets_in_seconds"].as_u64().map(Span::from_secs);
        let at = error["resets_at"].as_u64();
        problem.resets_at = at.map(|at| Time::from_millis(at.saturating_mul(1_000)));
    }
    problem
}

fn error_code(error: &Value) -> Option<&str> {
    error["code"].as_str()
}

fn error_kind(error: &Value) -> Option<&str> {
    error["type"].as_str()
}

/// Returns the trouble of a code or type that says more than the status does.
fn classify_name(name: &str) -> Option<ProblemClass> {
    Some(match name {
        "invalid_api_key" => ProblemClass::Credentials,
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "usage_not_included" => ProblemClass::Quota,
        "usage_limit_reached" => ProblemClass::UsageLimit,
        "model_not_found" => ProblemClass::NotThere,
        "rate_limit_exceeded" | "slow_down" => ProblemClass::RateLimit,
        "server_is_overloaded" | "overloaded_error" | "engine_overloaded" => ProblemClass::Overloaded,
        "context_length_exceeded"
        | "string_above_max_length"
        // llama.cpp
        | "exceed_context_size_error" => ProblemClass::ContextTooLong,
        "content_filter" | "content_policy_violation" | "cyber_policy" | "invalid_prompt" => {
            ProblemClass::Refused
        }
        _ => return None,
    })
}

/// Parses the arguments of a call; an empty text is an empty object.
pub(super) fn parse_arguments(text: &str) -> Result<Value, ProviderProblem> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match serde_json::from_str(text) {
        Ok(input @ Value::Object(_)) => Ok(input),
        _ => Err(ProviderProblem::bad_arguments()),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;
    use serde_json::json;

    use super::*;

    // B3: by status, type and code; never by text.
    #[test]
    fn errors_of_many_services_have_their_meaning() {
        let error = |kind: &str, code: Value| json!({"error": {"type": kind, "code": code, "message": "429 401 overloaded"}});
        let cases = [
            (
                400,
                error("invalid_request_error", json!("context_length_exceeded")),
                ProblemClass::ContextTooLong,
            ),
            (400, error("exceed_context_size_error", json!(400)), ProblemClass::ContextTooLong),
            (400, error("BadRequestError", json!(400)), ProblemClass::Rejected),
            (
                400,
                json!({"error": {"type": "BadRequestError", "param": "input_tokens"}}),
                ProblemClass::ContextTooLong,
            ),
            (400, error("invalid_request_error", json!("invalid_prompt")), ProblemClass::Refused),
            (429, error("insufficient_quota", Value::Null), ProblemClass::Quota),
            (429, error("tokens", json!("rate_limit_exceeded")), ProblemClass::RateLimit),
            (429, error("usage_not_included", Value::Null), ProblemClass::Quota),
            (503, error("server_error", json!("slow_down")), ProblemClass::RateLimit),
            (503, error("server_error", Value::Null), ProblemClass::Service),
            (404, json!({"detail": "Not Found"}), ProblemClass::NotThere),
            (500, json!({"error": "rate limit"}), ProblemClass::Service),
            (401, json!(null), ProblemClass::Credentials),
        ];
        for (status, body, trouble) in cases {
            let head = ResponseHead::new(status, HeaderMap::new());
            let problem = classify_refusal(&head, body.to_string().as_bytes());
            assert_eq!(problem.trouble, trouble, "{status} {body}");
        }
        let head = ResponseHead::new(502, HeaderMap::new());
        assert_eq!(classify_refusal(&head, b"<html>").message, "status 502: <html>");
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        assert_eq!(parse_arguments(" "), Ok(json!({})));
        assert_eq!(parse_arguments("{\"a\": 1}"), Ok(json!({"a": 1})));
        assert_eq!(parse_arguments("null"), Err(ProviderProblem::bad_arguments()));
    }
}
