//! The protocol `OpenAI` Chat Completions, which many services speak.

use serde_json::{Value, json};

use super::super::answer::{Call, Speech, Stop};
use super::{Asked, CACHED_TOKENS, Event, INPUT_TOKENS, OUTPUT_TOKENS};

pub(super) fn stream(speech: &Speech, asked: &Asked) -> Vec<Event> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let mut chunk = envelope("chat.completion.chunk", asked);
        chunk["choices"] = json!([choice]);
        Event::data(&chunk)
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    if !speech.text.is_empty() {
        let (one, two) = speech.text.split_at(speech.text.floor_char_boundary(4));
        events.push(chunk(json!({"content": one}), None));
        events.push(chunk(json!({"content": two}), None));
    }
    for (index, call) in calls(speech, asked).into_iter().enumerate() {
        let mut call = call;
        call["index"] = index.into();
        events.push(chunk(json!({"tool_calls": [call]}), None));
    }
    events.push(chunk(json!({}), Some(finish_reason(speech))));
    if !speech.unmeasured {
        let mut last = envelope("chat.completion.chunk", asked);
        last["choices"] = json!([]);
        last["usage"] = usage();
        events.push(Event::data(&last));
    }
    events.push(Event::raw("data: [DONE]\n\n"));
    events
}

pub(super) fn whole(speech: &Speech, asked: &Asked) -> Value {
    let mut message = json!({"role": "assistant", "content": speech.text});
    if !speech.calls.is_empty() {
        message["tool_calls"] = calls(speech, asked).into();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason(speech)});
    let mut whole = envelope("chat.completion", asked);
    whole["choices"] = json!([choice]);
    if !speech.unmeasured {
        whole["usage"] = usage();
    }
    whole
}

fn envelope(object: &str, asked: &Asked) -> Value {
    let id = format!("chatcmpl-fake-{}", asked.number);
    json!({"id": id, "object": object, "created": 0, "model": asked.model})
}

fn usage() -> Value {
    json!({
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    })
}

fn calls(speech: &Speech, asked: &Asked) -> Vec<Value> {
    let call = |(index, call): (usize, &Call)| {
        json!({
            "id": format!("call_fake_{}_{index}", asked.number),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        })
    };
    speech.calls.iter().enumerate().map(call).collect()
}

fn finish_reason(speech: &Speech) -> &'static str {
    match speech.stop {
        Stop::Done | Stop::Paused if speech.calls.is_empty() => "stop",
        Stop::Done | Stop::Paused => "tool_calls",
        Stop::OutputLimit => "length",
        Stop::Refusal => "content_filter",
        Stop::Unheard => "went_fishing",
    }
}

pub(super) fn error_event(overloaded: bool) -> Event {
    let (kind, code, message) = if overloaded {
        ("server_error", "server_is_overloaded", "The server is overloaded.")
    } else {
        ("teapot_error", "teapot", "Short and stout.")
    };
    Event::data(&json!({"error": {"message": message, "type": kind, "code": code}}))
}
