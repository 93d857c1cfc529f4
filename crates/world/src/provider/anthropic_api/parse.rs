//! Parses responses of Anthropic Messages. Does no I/O.

use serde_json::Value;

use super::super::http::{ProblemClass, ProviderProblem, ResponseHead, StreamParser, parse_event};
use super::wire::{
    AnthropicDelta, AnthropicError, AnthropicErrorBody, AnthropicEvent, AnthropicUsage,
};
use crate::agent::Usage;
use crate::model::MessagePart;

#[derive(Debug, Default)]
pub(super) struct AnthropicParser {
    blocks: Vec<PartialBlock>,
    stop_reason: Option<String>,
    used: Option<Usage>,
    ended: bool,
}

#[derive(Debug)]
enum PartialBlock {
    Text(String),
    Call { id: String, name: String, input: Value, json: String },
    Opaque(Value),
}

impl StreamParser for AnthropicParser {
    fn classify_refusal(head: &ResponseHead, body: &[u8]) -> ProviderProblem {
        let error = serde_json::from_slice::<AnthropicErrorBody>(body).map(|body| body.error);
        let mut problem = match error {
            Ok(error) => {
                let trouble =
                    classify_error(&error).unwrap_or(ProblemClass::from_status(Some(head.status)));
                build_problem(trouble, error)
            }
            Err(_) => ProviderProblem::new(
                ProblemClass::from_status(Some(head.status)),
                format!("status {}: {}", head.status, String::from_utf8_lossy(body)),
            ),
        };
        apply_limit_headers(head, &mut problem);
        problem
    }

    fn handle_event(&mut self, data: &[u8]) -> Result<bool, ProviderProblem> {
        let event: AnthropicEvent<'_> = parse_event(data)?;
        match &*event.kind {
            "content_block_delta" => self.apply_delta(event.index, event.delta)?,
            "content_block_start" => self.begin_block(event.index, event.content_block)?,
            "message_start" => self.update_usage(event.message.and_then(|message| message.usage)),
            "message_delta" => {
                self.update_usage(event.usage);
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.stop_reason = reason.or(self.stop_reason.take());
            }
            "message_stop" => self.ended = true,
            "error" => return Err(classify_stream_error(event.error.unwrap_or_default())),
            // Pings, ends of blocks, and events that this version does not know.
            _ => {}
        }
        Ok(self.ended)
    }

    fn finish_turn(&mut self) -> Result<Vec<MessagePart>, ProviderProblem> {
        if !self.ended {
            return Err(ProviderProblem::ended_early());
        }
        let reason = self.stop_reason.as_deref();
        let paused = match reason {
            Some("end_turn" | "tool_use" | "stop_sequence") => false,
            Some("pause_turn") => true,
            Some("max_tokens") => {
                return Err(ProviderProblem::stopped(ProblemClass::OutputLimit, "max_tokens"));
            }
            Some("refusal") => {
                let said = self.blocks.iter().filter_map(PartialBlock::as_text).collect::<String>();
                return Err(ProviderProblem::stopped(ProblemClass::Refused, "refusal")
                    .with_model_text(&said));
            }
            Some(reason @ "model_context_window_exceeded") => {
                return Err(ProviderProblem::stopped(ProblemClass::ContextTooLong, reason));
            }
            other => {
                return Err(ProviderProblem::stopped(
                    ProblemClass::Unknown,
                    other.unwrap_or("none"),
                ));
            }
        };
        let mut parts = Vec::with_capacity(self.blocks.len());
        for block in self.blocks.drain(..) {
            parts.push(block.into_part()?);
        }
        if paused {
            parts.push(MessagePart::pause_mark());
        }
        Ok(parts)
    }

    fn reported_usage(&self) -> Option<Usage> {
        self.used
    }
}

impl AnthropicParser {
    fn begin_block(
        &mut self,
        index: Option<usize>,
        block: Option<Value>,
    ) -> Result<(), ProviderProblem> {
        let (Some(index), Some(mut block)) = (index, block) else {
            return Err(ProviderProblem::not_understood("a block begins without its content"));
        };
        if index != self.blocks.len() {
            return Err(ProviderProblem::not_understood("a block is out of order"));
        }
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        self.blocks.push(match block["type"].as_str() {
            Some("text") => PartialBlock::Text(text(&block["text"]).unwrap_or_default()),
            Some("tool_use") => {
                let (Some(id), Some(name)) = (text(&block["id"]), text(&block["name"])) else {
                    return Err(ProviderProblem::not_understood("a call has no name"));
                };
                PartialBlock::Call { id, name, input: block["input"].take(), json: String::new() }
            }
            Some(_) => PartialBlock::Opaque(block),
            None => return Err(ProviderProblem::not_understood("a block has no type")),
        });
        Ok(())
    }

    fn apply_delta(
        &mut self,
        index: Option<usize>,
        delta: Option<AnthropicDelta<'_>>,
    ) -> Result<(), ProviderProblem> {
        let block = index.and_then(|index| self.blocks.get_mut(index));
        let (Some(block), Some(delta)) = (block, delta) else {
            return Err(ProviderProblem::not_understood("a part belongs to no block"));
        };
        match block {
            PartialBlock::Text(text) => {
                text.push_str(delta.text.as_ref().map_or("", |words| &words.0));
            }
            PartialBlock::Call { json, .. } => {
                json.push_str(delta.partial_json.as_ref().map_or("", |words| &words.0));
            }
            PartialBlock::Opaque(value) => {
                append_field(value, "thinking", delta.thinking.as_ref().map(|words| &*words.0));
                append_field(value, "signature", delta.signature.as_ref().map(|words| &*words.0));
            }
        }
        Ok(())
    }

    /// Updates the usage: each report is cumulative.
    fn update_usage(&mut self, used: Option<AnthropicUsage>) {
        let Some(used) = used else { return };
        let so_far = self.used.unwrap_or_default();
        self.used = Some(Usage {
            input_tokens: used.input_tokens.unwrap_or(so_far.input_tokens),
            output_tokens: used.output_tokens.unwrap_or(so_far.output_tokens),
            cached_tokens: used.cache_read_input_tokens.unwrap_or(so_far.cached_tokens),
            cache_written_tokens: used
                .cache_creation_input_tokens
                .unwrap_or(so_far.cache_written_tokens),
            money_micros: None,
            unmeasured_calls: 0,
        });
    }
}

impl PartialBlock {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Call { .. } | Self::Opaque(_) => None,
        }
    }

    fn into_part(self) -> Result<MessagePart, ProviderProblem> {
        Ok(match self {
            Self::Text(text) => MessagePart::Text { text },
            Self::Opaque(value) => MessagePart::Opaque { value },
            Self::Call { id, name, input, json } if json.is_empty() && input.is_object() => {
                MessagePart::Call { id, name, input }
            }
            Self::Call { id, name, json, .. } => match serde_json::from_str(&json) {
                Ok(input @ Value::Object(_)) => MessagePart::Call { id, name, input },
                _ => return Err(ProviderProblem::bad_arguments()),
            },
        })
    }
}

fn append_field(block: &mut Value, field: &str, more: Option<&str>) {
    let Some(more) = more else { return };
    match block.get_mut(field) {
        Some(Value::String(text)) => text.push_str(more),
        _ => block[field] = more.into(),
    }
}

fn build_problem(trouble: ProblemClass, error: AnthropicError) -> ProviderProblem {
    let mut problem = ProviderProblem::new(trouble, format!("{}: {}", error.kind, error.message));
    problem.error_type = Some(error.kind);
    problem
}

/// Returns the trouble of an error type that says more than the status does.
fn classify_error(error: &AnthropicError) -> Option<ProblemClass> {
    match error.kind.as_str() {
        "billing_error" => Some(ProblemClass::Quota),
        "overloaded_error" => Some(ProblemClass::Overloaded),
        "request_too_large" => Some(ProblemClass::ContextTooLong),
        "invalid_request_error" => classify_message(&error.message),
        _ => None,
    }
}

/// Recognizes two errors without a type of their own, which only the beginning of the service's
/// message identifies (`docs/adr/0010-two-errors-without-a-type.md`).
fn classify_message(message: &str) -> Option<ProblemClass> {
    const BEGINNINGS: &[(&str, ProblemClass)] = &[
        ("prompt is too long", ProblemClass::ContextTooLong),
        ("input length and `max_tokens` exceed context limit", ProblemClass::ContextTooLong),
        ("Your credit balance is too low", ProblemClass::Quota),
    ];
    let known = BEGINNINGS.iter().find(|(beginning, _)| message.starts_with(beginning));
    known.map(|(_, trouble)| *trouble)
}

/// Classifies an error inside a stream, where there is no status any more.
fn classify_stream_error(error: AnthropicError) -> ProviderProblem {
    let trouble = classify_error(&error).unwrap_or(match error.kind.as_str() {
        "authentication_error" | "permission_error" => ProblemClass::Credentials,
        "not_found_error" => ProblemClass::NotThere,
        "rate_limit_error" => ProblemClass::RateLimit,
        "api_error" | "timeout_error" => ProblemClass::Service,
        "invalid_request_error" => ProblemClass::Rejected,
        _ => ProblemClass::Unknown,
    });
    build_problem(trouble, error)
}

/// Reads the headers about a limit: a plan's window, or the kind of tokens that are used up.
fn apply_limit_headers(head: &ResponseHead, problem: &mut ProviderProblem) {
    problem.retry_after = head.retry_after();
    problem.resets_at = head.retry_at();
    if problem.trouble != ProblemClass::RateLimit {
        return;
    }
    if head.get("anthropic-ratelimit-unified-status") == Some("rejected") {
        problem.trouble = ProblemClass::UsageLimit;
        let claim = head.get("anthropic-ratelimit-unified-representative-claim");
        problem.limited = claim.map(ToOwned::to_owned);
        let reset = head.parse_epoch_seconds("anthropic-ratelimit-unified-reset");
        problem.resets_at = reset.or(problem.resets_at);
        return;
    }
    let used_up = ["requests", "input-tokens", "output-tokens", "tokens"]
        .into_iter()
        .find(|kind| head.get(&format!("anthropic-ratelimit-{kind}-remaining")) == Some("0"));
    problem.limited = used_up.map(ToOwned::to_owned);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(
        status: u16,
        body: &[u8],
        headers: &[(&'static str, &'static str)],
    ) -> ProviderProblem {
        let headers = headers.iter().map(|(name, value)| {
            let name = reqwest::header::HeaderName::from_static(name);
            (name, reqwest::header::HeaderValue::from_static(value))
        });
        AnthropicParser::classify_refusal(&ResponseHead::new(status, headers.collect()), body)
    }

    // B3: text has a meaning in one place only, and there only at the beginning.
    #[test]
    fn words_of_an_error_do_not_decide() {
        let cases = [
            (
                400,
                "invalid_request_error",
                "prompt is too long: 9 > 8",
                ProblemClass::ContextTooLong,
            ),
            (
                400,
                "invalid_request_error",
                "your text says: prompt is too long",
                ProblemClass::Rejected,
            ),
            (400, "invalid_request_error", "429 rate limit overloaded 401", ProblemClass::Rejected),
            (400, "invalid_request_error", "Your credit balance is too low", ProblemClass::Quota),
            (500, "api_error", "prompt is too long", ProblemClass::Service),
            (500, "api_error", "rate limit exceeded, 401, timeout", ProblemClass::Service),
            (400, "billing_error", "", ProblemClass::Quota),
            (500, "overloaded_error", "", ProblemClass::Overloaded),
            (401, "something_new", "overloaded", ProblemClass::Credentials),
        ];
        for (status, kind, message, trouble) in cases {
            let body = json!({"type": "error", "error": {"type": kind, "message": message}});
            let problem = refused(status, body.to_string().as_bytes(), &[]);
            assert_eq!(problem.trouble, trouble, "{status} {kind} {message}");
        }
    }

    #[test]
    fn a_body_that_is_no_error_leaves_the_status() {
        for body in [&b""[..], b"<html>429</html>", b"{}", b"[1]", b"\xff", b"{\"error\": \"x\"}"] {
            assert_eq!(refused(503, body, &[]).trouble, ProblemClass::Service);
        }
    }

    #[test]
    fn headers_say_what_is_limited() {
        let limited = |headers| {
            let problem = refused(429, b"", headers);
            (problem.trouble, problem.limited)
        };
        let tokens = [
            ("anthropic-ratelimit-requests-remaining", "3"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
        ];
        assert_eq!(limited(&tokens), (ProblemClass::RateLimit, Some("input-tokens".to_owned())));
        let window = [
            ("anthropic-ratelimit-unified-status", "rejected"),
            ("anthropic-ratelimit-unified-representative-claim", "seven_day"),
        ];
        assert_eq!(limited(&window), (ProblemClass::UsageLimit, Some("seven_day".to_owned())));
        // The window has room left: it is the limit per minute that is reached.
        let allowed = [("anthropic-ratelimit-unified-status", "allowed")];
        assert_eq!(limited(&allowed), (ProblemClass::RateLimit, None));
        // A window only matters for limits.
        assert_eq!(refused(500, b"", &window).trouble, ProblemClass::Service);
    }
}
