//! The protocol `OpenAI` Responses.

use serde_json::{Value, json};

use super::super::answer::{FakeStopReason, FakeTurn};
use super::{CACHED_TOKENS, FakeModelCall, FakeSseEvent, INPUT_TOKENS, OUTPUT_TOKENS};

pub(super) fn build_stream(speech: &FakeTurn, asked: &FakeModelCall) -> Vec<FakeSseEvent> {
    let mut begun = build_body(speech, asked);
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![FakeSseEvent::from_named_data(
        &json!({"type": "response.created", "response": begun}),
    )];
    for (index, item) in build_output(speech, asked).iter().enumerate() {
        events.extend(build_item_events(index, item));
    }
    let response = build_body(speech, asked);
    let kind = match speech.stop {
        FakeStopReason::OutputLimit => "response.incomplete",
        FakeStopReason::Unheard => "response.went_fishing",
        FakeStopReason::Done | FakeStopReason::Refusal | FakeStopReason::Paused => {
            "response.completed"
        }
    };
    events.push(FakeSseEvent::from_named_data(&json!({"type": kind, "response": response})));
    events
}

fn build_item_events(index: usize, item: &Value) -> Vec<FakeSseEvent> {
    let mut begun = item.clone();
    let delta = match item["type"].as_str() {
        Some("message") => {
            begun["content"] = json!([]);
            json!({"type": "response.output_text.delta", "delta": item["content"][0]["text"]})
        }
        _ => {
            begun["arguments"] = "".into();
            json!({"type": "response.function_call_arguments.delta", "delta": item["arguments"]})
        }
    };
    let mut delta = delta;
    delta["output_index"] = index.into();
    delta["item_id"] = item["id"].clone();
    vec![
        FakeSseEvent::from_named_data(
            &json!({"type": "response.output_item.added", "output_index": index, "item": begun}),
        ),
        FakeSseEvent::from_named_data(&delta),
        FakeSseEvent::from_named_data(
            &json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        ),
    ]
}

pub(super) fn build_body(speech: &FakeTurn, asked: &FakeModelCall) -> Value {
    let status = match speech.stop {
        FakeStopReason::OutputLimit => "incomplete",
        _ => "completed",
    };
    let mut response = json!({
        "id": format!("resp_fake_{}", asked.number),
        "object": "response",
        "model": asked.model,
        "status": status,
        "output": build_output(speech, asked),
        "incomplete_details": null,
    });
    if speech.stop == FakeStopReason::OutputLimit {
        response["incomplete_details"] = json!({"reason": "max_output_tokens"});
    }
    if !speech.unmeasured {
        response["usage"] = json!({
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        });
    }
    response
}

fn build_output(speech: &FakeTurn, asked: &FakeModelCall) -> Vec<Value> {
    let content = match speech.stop {
        FakeStopReason::Refusal => {
            Some(json!({"type": "refusal", "refusal": "I will not do that."}))
        }
        _ if speech.text.is_empty() => None,
        _ => Some(json!({"type": "output_text", "text": speech.text, "annotations": []})),
    };
    let message = content.map(|content| {
        json!({
            "type": "message",
            "id": format!("msg_fake_{}", asked.number),
            "role": "assistant",
            "status": "completed",
            "content": [content],
        })
    });
    let calls = speech.calls.iter().enumerate().map(|(index, call)| {
        let (server, name) = split_server(&call.name);
        let mut item = json!({
            "type": "function_call",
            "id": format!("fc_fake_{}_{index}", asked.number),
            "call_id": format!("call_fake_{}_{index}", asked.number),
            "name": name,
            "arguments": call.arguments,
            "status": "completed",
        });
        if let Some(server) = server {
            item["namespace"] = json!(server);
        }
        item
    });
    message.into_iter().chain(calls).collect()
}

/// Splits the name of an MCP tool, `mcp__server__tool`: this protocol sends it in two parts.
fn split_server(name: &str) -> (Option<&str>, &str) {
    match name.rsplit_once("__") {
        Some((server, tool)) if server.starts_with("mcp__") => (Some(server), tool),
        _ => (None, name),
    }
}

pub(super) fn build_error_event(overloaded: bool) -> FakeSseEvent {
    let (code, message) = if overloaded {
        ("server_is_overloaded", "The server is overloaded.")
    } else {
        ("teapot", "Short and stout.")
    };
    let error = json!({"code": code, "message": message});
    let response = json!({"id": "resp_fake", "status": "failed", "error": error});
    FakeSseEvent::from_named_data(&json!({"type": "response.failed", "response": response}))
}
