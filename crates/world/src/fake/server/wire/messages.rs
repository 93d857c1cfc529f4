//! The protocol Anthropic Messages.

use serde_json::{Value, json};

use super::super::answer::{HttpError, Reset, Speech, Stop};
use super::{Asked, CACHED_TOKENS, Event, INPUT_TOKENS, OUTPUT_TOKENS, REQUEST_ID};

pub(super) fn stream(speech: &Speech, asked: &Asked) -> Vec<Event> {
    let mut message = whole(speech, asked);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    if !speech.unmeasured {
        message["usage"]["output_tokens"] = 1.into();
    }
    let mut events = vec![
        Event::named(&json!({"type": "message_start", "message": message})),
        Event::named(&json!({"type": "ping"})),
    ];
    for (index, block) in content(speech, asked).iter().enumerate() {
        events.extend(block_events(index, block, speech));
    }
    let mut end = json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(speech), "stop_sequence": null},
    });
    if !speech.unmeasured {
        end["usage"] = json!({"output_tokens": OUTPUT_TOKENS});
    }
    events.push(Event::named(&end));
    events.push(Event::named(&json!({"type": "message_stop"})));
    events
}

fn block_events(index: usize, block: &Value, speech: &Speech) -> Vec<Event> {
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
        Event::named(
            &json!({"type": "content_block_start", "index": index, "content_block": start}),
        ),
        Event::named(&json!({"type": "content_block_delta", "index": index, "delta": delta})),
        Event::named(&json!({"type": "content_block_stop", "index": index})),
    ]
}

pub(super) fn whole(speech: &Speech, asked: &Asked) -> Value {
    let mut message = json!({
        "id": format!("msg_fake_{}", asked.number),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content(speech, asked),
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

fn content(speech: &Speech, asked: &Asked) -> Vec<Value> {
    let text = Some(&speech.text).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let calls = speech.calls.iter().enumerate().map(|(index, call)| {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let id = format!("toolu_fake_{}_{index}", asked.number);
        json!({"type": "tool_use", "id": id, "name": call.name, "input": input})
    });
    text.into_iter().chain(calls).collect()
}

fn stop_reason(speech: &Speech) -> &'static str {
    match speech.stop {
        Stop::Done if speech.calls.is_empty() => "end_turn",
        Stop::Done => "tool_use",
        Stop::OutputLimit => "max_tokens",
        Stop::Refusal => "refusal",
        Stop::Paused => "pause_turn",
        Stop::Unheard => "went_fishing",
    }
}

pub(super) fn error_event(overloaded: bool) -> Event {
    let (kind, message) = if overloaded {
        ("overloaded_error", "Overloaded")
    } else {
        ("teapot_error", "Short and stout.")
    };
    Event::named(&body(kind, message))
}

fn body(kind: &str, message: &str) -> Value {
    json!({
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": REQUEST_ID,
    })
}

pub(super) fn error(error: &HttpError) -> (u16, Value) {
    let (status, kind, message) = match error {
        HttpError::Unauthorized => (401, "authentication_error", "invalid x-api-key"),
        HttpError::Forbidden => (403, "permission_error", "Your API key has no permission."),
        HttpError::PaymentRequired => (402, "billing_error", "There is an issue with billing."),
        HttpError::NoCredit => (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
        ),
        HttpError::NoSuchModel => (404, "not_found_error", "model: claude-nope-1"),
        HttpError::RateLimit(_) | HttpError::UsageLimit(_) => {
            (429, "rate_limit_error", "This request would exceed your rate limit.")
        }
        HttpError::Internal => (500, "api_error", "Internal server error"),
        HttpError::Unavailable => (503, "api_error", "Service unavailable"),
        HttpError::Overloaded => (529, "overloaded_error", "Overloaded"),
        HttpError::ContextTooLong => {
            (400, "invalid_request_error", "prompt is too long: 205000 tokens > 200000 maximum")
        }
        HttpError::TooLarge => (413, "request_too_large", "Request exceeds the maximum size"),
        HttpError::Unheard => (418, "teapot_error", "Short and stout."),
        HttpError::Invalid | HttpError::Page | HttpError::Redirect => {
            (400, "invalid_request_error", "messages.0.content: something is invalid")
        }
    };
    (status, body(kind, message))
}

/// Returns the headers of a plan's window that is used up.
pub(super) fn window(reset: Option<Reset>) -> Vec<(&'static str, String)> {
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
