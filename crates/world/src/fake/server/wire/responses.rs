//! The protocol `OpenAI` Responses.

use serde_json::{Value, json};

use super::super::answer::{Speech, Stop};
use super::{Asked, CACHED_TOKENS, Event, INPUT_TOKENS, OUTPUT_TOKENS};

pub(super) fn stream(speech: &Speech, asked: &Asked) -> Vec<Event> {
    let mut begun = whole(speech, asked);
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![Event::named(&json!({"type": "response.created", "response": begun}))];
    for (index, item) in output(speech, asked).iter().enumerate() {
        events.extend(item_events(index, item));
    }
    let response = whole(speech, asked);
    let kind = match speech.stop {
        Stop::OutputLimit => "response.incomplete",
        Stop::Unheard => "response.went_fishing",
        Stop::Done | Stop::Refusal | Stop::Paused => "response.completed",
    };
    events.push(Event::named(&json!({"type": kind, "response": response})));
    events
}

fn item_events(index: usize, item: &Value) -> Vec<Event> {
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
        Event::named(
            &json!({"type": "response.output_item.added", "output_index": index, "item": begun}),
        ),
        Event::named(&delta),
        Event::named(
            &json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        ),
    ]
}

pub(super) fn whole(speech: &Speech, asked: &Asked) -> Value {
    let status = match speech.stop {
        Stop::OutputLimit => "incomplete",
        _ => "completed",
    };
    let mut response = json!({
        "id": format!("resp_fake_{}", asked.number),
        "object": "response",
        "model": asked.model,
        "status": status,
        "output": output(speech, asked),
        "incomplete_details": null,
    });
    if speech.stop == Stop::OutputLimit {
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

fn output(speech: &Speech, asked: &Asked) -> Vec<Value> {
    let content = match speech.stop {
        Stop::Refusal => Some(json!({"type": "refusal", "refusal": "I will not do that."})),
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
        let (server, name) = of_server(&call.name);
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
fn of_server(name: &str) -> (Option<&str>, &str) {
    match name.rsplit_once("__") {
        Some((server, tool)) if server.starts_with("mcp__") => (Some(server), tool),
        _ => (None, name),
    }
}

pub(super) fn error_event(overloaded: bool) -> Event {
    let (code, message) = if overloaded {
        ("server_is_overloaded", "The server is overloaded.")
    } else {
        ("teapot", "Short and stout.")
    };
    let error = json!({"code": code, "message": message});
    let response = json!({"id": "resp_fake", "status": "failed", "error": error});
    Event::named(&json!({"type": "response.failed", "response": response}))
}
