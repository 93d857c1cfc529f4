//! What a conversation looks like on the wire, and whether it is well-formed.

use serde_json::Value;
use unstuck_world::fake::server::FakeAnswer;

/// The results of tools in the last message: the call, what it showed, whether it failed.
pub(crate) fn results(messages: &Value) -> Vec<(String, String, bool)> {
    let last = messages.as_array().unwrap().last().unwrap();
    let parts = last["content"].as_array().unwrap().iter();
    parts
        .filter(|part| part["type"] == "tool_result")
        .map(|part| {
            let id = part["tool_use_id"].as_str().unwrap().to_owned();
            (id, text(&part["content"]), part["is_error"] == true)
        })
        .collect()
}

/// All words in a value, wherever they stand.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.values().map(text).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// Sides alternate, we begin and end, and each call has its one result right after it.
pub(crate) fn check(messages: &Value) {
    let messages = messages.as_array().unwrap();
    assert_eq!(messages.len() % 2, 1, "it ends with us");
    for (at, message) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "message {at}");
        let ids = |message: &Value, kind: &str, key: &str| {
            let parts = message["content"].as_array().cloned().unwrap_or_default();
            let mut ids: Vec<String> = parts
                .iter()
                .filter(|part| part["type"] == kind)
                .map(|part| part[key].as_str().unwrap().to_owned())
                .collect();
            ids.sort();
            ids
        };
        let calls = ids(message, "tool_use", "id");
        let after = messages.get(at + 1).map(|next| ids(next, "tool_result", "tool_use_id"));
        if role == "assistant" {
            assert_eq!(Some(calls), after, "message {at}");
        }
    }
}

pub(crate) fn done() -> FakeAnswer {
    FakeAnswer::with_call("task_done", &serde_json::json!({ "summary": "It is friendly now." }))
}

pub(crate) fn run(command: &str) -> FakeAnswer {
    FakeAnswer::with_call("run_command", &serde_json::json!({ "command": command }))
}

pub(crate) fn write(path: &str, content: &str) -> FakeAnswer {
    FakeAnswer::with_call("write_file", &serde_json::json!({ "path": path, "content": content }))
}

pub(crate) fn read(path: &str) -> FakeAnswer {
    FakeAnswer::with_call("read_file", &serde_json::json!({ "path": path }))
}
