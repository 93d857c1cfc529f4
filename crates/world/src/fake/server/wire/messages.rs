//! The protocol Anthropic Messages.

use serde_json::{Value, json};

use super::super::answer::{FakeHttpError, FakeStopReason, FakeTurn, FakeWindowReset};
use super::{CACHED_TOKENS, FakeModelCall, FakeSseEvent, INPUT_TOKENS, OUTPUT_TOKENS, REQUEST_ID};

pub(super) fn build_stream(speech: &FakeTurn, asked: &FakeModelCall) -> Vec<FakeSseEvent> {
    let mut message = build_body(speech, asked);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    if !speech.unmeasured {
        message["usage"]["output_tokens"] = 1.into();
    }
    let mut events = vec![
        FakeSseEvent::from_named_data(&json!({"type": "message_start", "message": message})),
        FakeSseEvent::from_named_data(&json!({"type": "ping"})),
    ];
    for (index, block) in build_content(speech, asked).iter().enumerate() {
        events.extend(build_block_events(index, block, speech));
    }
    let mut end = json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(speech), "stop_sequence": null},
    });
    if !speech.unmeasured {
        end["usage"] = json!({"output_tokens": OUTPUT_TOKENS});
    }
    events.push(FakeSseEvent::from_named_data(&end));
    events.push(FakeSseEvent::from_named_data(&json!({"type": "message_stop"})));
    events
}

fn build_block_events(index: usize, block: &Value, speech: &FakeTurn) -> Vec<FakeSseEvent> {
    let (start, delta) = match block["type"].as_str() {
        Some("text") => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": block["text"]}),
        ),
        _ => {
            let call = usize::from(!speech.text.is_empty());
            let arguments = speech.calls.get(index - call).map(|call| call.arguments.as_str());
            let mut start = block.clone();
            start["input"] = json!({});
            (start, json!({"type": "input_json_delta", "partial_json": arguments}))
        }
    };
    vec![
        FakeSseEvent::from_named_data(
            &json!({"type": "content_block_start", "index": index, "content_block": start}),
        ),
        FakeSseEvent::from_named_data(
            &json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ),
        FakeSseEvent::from_named_data(&json!({"type": "content_block_stop", "index": index})),
    ]
}

pub(super) fn build_body(speech: &FakeTurn, asked: &FakeModelCall) -> Value {
    let mut message = json!({
        "id": format!("msg_fake_{}", asked.number),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": build_content(speech, asked),
        "stop_reason": stop_reason(speech),
        "stop_sequence": null,
    });
    if !speech.unmeasured {
        message["usage"] = json!({
            "input_tokens": INPUT_TOKENS - CACHED_TOKENS,
            "cache_read_input_tokens": CACHED_TOKENS,
            "cache_creation_input_tokens": 0,
            "output_tokens": OUTPUT_TOKENS,
        });
    }
    message
}

fn build_content(speech: &FakeTurn, asked: &FakeModelCall) -> Vec<Value> {
    let text = Some(&speech.text).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let calls = speech.calls.iter().enumerate().map(|(index, call)| {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let id = format!("toolu_fake_{}_{index}", asked.number);
        json!({"type": "tool_use", "id": id, "name": call.name, "input": input})
    });
    text.into_iter().chain(calls).collect()
}

fn stop_reason(speech: &FakeTurn) -> &'static str {
    match speech.stop {
        FakeStopReason::Done if speech.calls.is_empty() => "end_turn",
        FakeStopReason::Done => "tool_use",
        FakeStopReason::OutputLimit => "max_tokens",
        FakeStopReason::Refusal => "refusal",
        FakeStopReason::Paused => "pause_turn",
        FakeStopReason::Unheard => "went_fishing",
    }
}

pub(super) fn build_error_event(overloaded: bool) -> FakeSseEvent {
    let (kind, message) = if overloaded {
        ("overloaded_error", "Overloaded")
    } else {
        ("teapot_error", "Short and stout.")
    };
    FakeSseEvent::from_named_data(&build_error_body(kind, message))
}

fn build_error_body(kind: &str, message: &str) -> Value {
    json!({
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": REQUEST_ID,
    })
}

pub(super) fn build_error(error: &FakeHttpError) -> (u16, Value) {
    let (status, kind, message) = match error {
        FakeHttpError::Unauthorized => (401, "authentication_error", "invalid x-api-key"),
        FakeHttpError::Forbidden => (403, "permission_error", "Your API key has no permission."),
        FakeHttpError::PaymentRequired => (402, "billing_error", "There is an issue with billing."),
        FakeHttpError::NoCredit => (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
        ),
        FakeHttpError::NoSuchModel => (404, "not_found_error", "model: claude-nope-1"),
        FakeHttpError::RateLimit(_) | FakeHttpError::UsageLimit(_) => {
            (429, "rate_limit_error", "This request would exceed your rate limit.")
        }
        FakeHttpError::Internal => (500, "api_error", "Internal server error"),
        FakeHttpError::Unavailable => (503, "api_error", "Service unavailable"),
        FakeHttpError::Overloaded => (529, "overloaded_error", "Overloaded"),
        FakeHttpError::ContextTooLong => {
            (400, "invalid_request_error", "prompt is too long: 205000 tokens > 200000 maximum")
        }
        FakeHttpError::TooLarge => (413, "request_too_large", "Request exceeds the maximum size"),
        FakeHttpError::Unheard => (418, "teapot_error", "Short and stout."),
        FakeHttpError::Invalid | FakeHttpError::Page | FakeHttpError::Redirect => {
            (400, "invalid_request_error", "messages.0.content: something is invalid")
        }
    };
    (status, build_error_body(kind, message))
}

/// Returns the headers of a plan's window that is used up.
pub(super) fn window_headers(reset: Option<FakeWindowReset>) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
    ];
    if let Some(reset) = reset {
        let seconds = reset.at.as_millis() / 1_000;
        headers.push(("anthropic-ratelimit-unified-reset", seconds.to_string()));
    }
    headers
}
