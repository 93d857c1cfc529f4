//! What is sent: a conversation as each protocol wants it, reasoning handed back as it came.

use serde_json::{Value, json};
use unstuck_world::fake::server::{FakeAnswer, FakeServer, RecordedRequest};
use unstuck_world::model::{MessagePart, MessageRole, ModelMessage};

use super::provider::{ALL, CANARY, Provider, ask, settings, user};

fn conversation() -> Vec<ModelMessage> {
    let said = |role, parts| ModelMessage { role, parts };
    let text = |text: &str| MessagePart::Text { text: text.to_owned() };
    vec![
        user("List the files."),
        said(
            MessageRole::Assistant,
            vec![
                MessagePart::Opaque {
                    value: json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
                },
                MessagePart::Opaque {
                    value: json!({"type": "reasoning", "encrypted_content": "sealed"}),
                },
                MessagePart::Opaque { value: json!({"type": "pause_turn"}) },
                text("I look."),
                text(""),
                MessagePart::Call {
                    id: "call_1".to_owned(),
                    name: "run".to_owned(),
                    input: json!({"command": "ls"}),
                },
            ],
        ),
        said(
            MessageRole::User,
            vec![
                MessagePart::Result {
                    id: "call_1".to_owned(),
                    output: "no such folder".to_owned(),
                    failed: true,
                },
                text("Go on."),
            ],
        ),
    ]
}

async fn sent(provider: Provider, messages: &[ModelMessage]) -> RecordedRequest {
    let server = FakeServer::start(FakeAnswer::with_text("ok")).await.unwrap();
    let model = provider.model(settings(Some(provider.base_url(&server.url()))));
    ask(&*model, messages).await.unwrap();
    server.model_calls().remove(0)
}

#[tokio::test]
async fn anthropic_gets_blocks_and_a_cache_to_the_end() {
    let seen = sent(Provider::Anthropic, &conversation()).await;
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("x-api-key"), Some("[redacted]"));
    let kept = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "model-1",
        "max_tokens": 1_000,
        "stream": true,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": kept}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "List the files."}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_1", "name": "run", "input": {"command": "ls"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "no such folder", "is_error": true},
                {"type": "text", "text": "Go on.", "cache_control": kept},
            ]},
        ],
        "tools": [{
            "name": "run",
            "description": "Runs a command.",
            "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
        }],
    });
    assert_eq!(seen.json(), expected);
}

#[tokio::test]
async fn responses_gets_items_and_stores_nothing() {
    let seen = sent(Provider::Responses, &conversation()).await;
    assert_eq!(seen.path, "/v1/responses");
    assert_eq!(seen.header("authorization"), Some("[redacted]"));
    let words = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let expected = json!({
        "model": "model-1",
        "stream": true,
        "store": false,
        "max_output_tokens": 1_000,
        "instructions": "Be brief.",
        "input": [
            words("user", "input_text", "List the files."),
            {"type": "reasoning", "encrypted_content": "sealed"},
            words("assistant", "output_text", "I look."),
            {"type": "function_call", "call_id": "call_1", "name": "run", "arguments": "{\"command\":\"ls\"}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "[failed]\nno such folder"},
            words("user", "input_text", "Go on."),
        ],
        "tools": [{
            "type": "function",
            "name": "run",
            "description": "Runs a command.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
            "strict": false,
        }],
    });
    assert_eq!(seen.json(), expected);
}

#[tokio::test]
async fn chat_gets_messages_and_results_beside_their_calls() {
    let seen = sent(Provider::Chat, &conversation()).await;
    assert_eq!(seen.path, "/v1/chat/completions");
    let body = seen.json();
    assert_eq!(body["max_tokens"], 1_000);
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "List the files."},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "run", "arguments": "{\"command\":\"ls\"}"}},
        ]},
        {"role": "tool", "tool_call_id": "call_1", "content": "[failed]\nno such folder"},
        {"role": "user", "content": "Go on."},
    ]);
    assert_eq!(body["messages"], expected);
    assert_eq!(body["tools"][0]["function"]["name"], "run");
}

#[tokio::test]
async fn what_is_sent_has_the_key_in_its_header_only() {
    for provider in ALL {
        let seen = sent(provider, &[user("hello")]).await;
        assert!(!String::from_utf8_lossy(&seen.body).contains(CANARY));
        assert_ne!(seen.json(), Value::Null);
    }
}
