//! The protocol `OpenAI` Chat Completions, which many services speak.

use serde_json::{Value, json};

use super::super::answer::{FakeStopReason, FakeToolCall, FakeTurn};
use super::{CACHED_TOKENS, FakeModelCall, FakeSseEvent, INPUT_TOKENS, OUTPUT_TOKENS};

pub(super) fn build_stream(speech: &FakeTurn, asked: &FakeModelCall) -> Vec<FakeSseEvent> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let mut chunk = build_envelope("chat.completion.chunk", asked);
        chunk["choices"] = json!([choice]);
        FakeSseEvent::from_data(&chunk)
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    if !speech.text.is_empty() {
        let (one, two) = speech.text.split_at(speech.text.floor_char_boundary(4));
        events.push(chunk(json!({"content": one}), None));
        events.push(chunk(json!({"content": two}), None));
    }
    for (index, call) in build_calls(speech, asked).into_iter().enumerate() {
        let mut call = call;
        call["index"] = index.into();
        events.push(chunk(json!({"tool_calls": [call]}), None));
    }
    events.push(chunk(json!({}), Some(finish_reason(speech))));
    if !speech.unmeasured {
        let mut last = build_envelope("chat.completion.chunk", asked);
        last["choices"] = json!([]);
        last["usage"] = build_usage();
        events.push(FakeSseEvent::from_data(&last));
    }
    events.push(FakeSseEvent::from_raw("data: [DONE]\n\n"));
    events
}

pub(super) fn build_body(speech: &FakeTurn, asked: &FakeModelCall) -> Value {
    let mut message = json!({"role": "assistant", "content": speech.text});
    if !speech.calls.is_empty() {
        message["tool_calls"] = build_calls(speech, asked).into();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason(speech)});
    let mut whole = build_envelope("chat.completion", asked);
    whole["choices"] = json!([choice]);
    if !speech.unmeasured {
        whole["usage"] = build_usage();
    }
    whole
}

fn build_envelope(object: &str, asked: &FakeModelCall) -> Value {
    let id = format!("chatcmpl-fake-{}", asked.number);
    json!({"id": id, "object": object, "created": 0, "model": asked.model})
}

fn build_usage() -> Value {
    json!({
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    })
}

fn build_calls(speech: &FakeTurn, asked: &FakeModelCall) -> Vec<Value> {
    let call = |(index, call): (usize, &FakeToolCall)| {
        json!({
            "id": format!("call_fake_{}_{index}", asked.number),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        })
    };
    speech.calls.iter().enumerate().map(call).collect()
}

fn finish_reason(speech: &FakeTurn) -> &'static str {
    match speech.stop {
        FakeStopReason::Done | FakeStopReason::Paused if speech.calls.is_empty() => "stop",
        FakeStopReason::Done | FakeStopReason::Paused => "tool_calls",
        FakeStopReason::OutputLimit => "length",
        FakeStopReason::Refusal => "content_filter",
        FakeStopReason::Unheard => "went_fishing",
    }
}

pub(super) fn build_error_event(overloaded: bool) -> FakeSseEvent {
    let (kind, code, message) = if overloaded {
        ("server_error", "server_is_overloaded", "The server is overloaded.")
    } else {
        ("teapot_error", "teapot", "Short and stout.")
    };
    FakeSseEvent::from_data(&json!({"error": {"message": message, "type": kind, "code": code}}))
}
