//! Streams as services write them, read without a service.

use serde_json::json;
use unstuck_core::fault::Code;
use unstuck_world::model::MessagePart;
use unstuck_world::provider::anthropic_api;
use unstuck_world::provider::openai_api::{self, OpenAiDialect};

fn stream(events: &[serde_json::Value]) -> Vec<u8> {
    events.iter().flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect()
}

#[test]
fn reasoning_of_anthropic_is_kept_as_it_came() {
    let begin = |index: u32, block: serde_json::Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u32, delta: serde_json::Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let bytes = stream(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "cache_creation_input_tokens": 5}}}),
        begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Let "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "me."})),
        delta(0, json!({"type": "signature_delta", "signature": "sig"})),
        begin(1, json!({"type": "redacted_thinking", "data": "sealed"})),
        begin(2, json!({"type": "tool_use", "id": "t", "name": "now", "input": {}})),
        json!({"type": "something_new", "field": [1]}),
        json!({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]);
    let turn = anthropic_api::parse_stream(&bytes).unwrap();
    let opaque = |value| MessagePart::Opaque { value };
    let expected = [
        opaque(json!({"type": "thinking", "thinking": "Let me.", "signature": "sig"})),
        opaque(json!({"type": "redacted_thinking", "data": "sealed"})),
        MessagePart::Call { id: "t".to_owned(), name: "now".to_owned(), input: json!({}) },
        opaque(json!({"type": "pause_turn"})),
    ];
    assert_eq!(turn.parts, expected);
    let usage = turn.usage;
    assert_eq!((usage.input_tokens, usage.cache_written_tokens, usage.output_tokens), (3, 5, 9));
}

#[test]
fn sealed_reasoning_of_openai_is_kept_and_other_reasoning_is_not() {
    let sealed =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
    let bytes = stream(&[
        json!({"type": "response.output_item.done", "item": {"type": "reasoning", "id": "rs_0"}}),
        json!({"type": "response.output_item.done", "item": sealed}),
        json!({"type": "response.completed", "response": {"output": []}}),
    ]);
    let turn = openai_api::parse_stream(OpenAiDialect::Responses, &bytes).unwrap();
    assert_eq!(turn.parts, [MessagePart::Opaque { value: sealed }]);
}

#[test]
fn some_send_the_items_at_the_end_only() {
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "hi"}]});
    let bytes = stream(&[json!({"type": "response.completed", "response": {"output": [message]}})]);
    let turn = openai_api::parse_stream(OpenAiDialect::Responses, &bytes).unwrap();
    assert_eq!(turn.parts, [MessagePart::Text { text: "hi".to_owned() }]);
}

#[test]
fn some_leave_out_the_number_of_a_call_and_the_last_word() {
    let call = |id: &str| {
        json!({"choices": [{"delta": {"content": null, "tool_calls": [
            {"id": id, "function": {"name": "run", "arguments": "{}"}},
        ]}}]})
    };
    let bytes = stream(&[
        call("a"),
        call("b"),
        json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}], "usage": null}),
    ]);
    let turn = openai_api::parse_stream(OpenAiDialect::Chat, &bytes).unwrap();
    let ids: Vec<&str> = turn
        .parts
        .iter()
        .filter_map(|part| match part {
            MessagePart::Call { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["a", "b"]);
}

// T4.33: whatever is not understood is a crash, never success.
#[test]
fn nothing_odd_is_a_success() {
    let anthropic = [
        json!({"type": "content_block_delta", "index": 0, "delta": {"text": "x"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text"}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {}}),
        json!({"type": "content_block_start"}),
        json!({"type": "error"}),
        json!({"type": "message_stop"}),
        json!({"no": "type"}),
        json!([]),
    ];
    for event in anthropic {
        let failure =
            anthropic_api::parse_stream(&stream(std::slice::from_ref(&event))).unwrap_err();
        assert_eq!(failure.fault.code(), Code::ProviderCrash, "{event}");
    }
    let responses = [
        json!({"type": "response.failed"}),
        json!({"type": "error", "code": "x", "message": "y"}),
        json!({"type": "response.incomplete"}),
        json!({"type": "response.completed", "response": {"output": [{"type": "new_thing"}]}}),
        json!({"type": "response.completed", "response": {"output": [{"type": "function_call"}]}}),
        json!({"type": "response.completed", "response": {"output": [{"type": "message", "content": [{}]}]}}),
        json!({"no": "type"}),
    ];
    for event in responses {
        let bytes = stream(std::slice::from_ref(&event));
        let failure = openai_api::parse_stream(OpenAiDialect::Responses, &bytes).unwrap_err();
        assert_eq!(failure.fault.code(), Code::ProviderCrash, "{event}");
    }
    let chat = [
        json!({"error": "just words"}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 7, "id": "x"}]}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "x"}]}, "finish_reason": "stop"}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "abort"}]}),
        json!({"choices": 1}),
    ];
    for event in chat {
        let bytes = stream(std::slice::from_ref(&event));
        let failure = openai_api::parse_stream(OpenAiDialect::Chat, &bytes).unwrap_err();
        assert_eq!(failure.fault.code(), Code::ProviderCrash, "{event}");
    }
}

#[test]
fn a_refusal_in_chat_is_one() {
    let bytes =
        stream(&[json!({"choices": [{"delta": {"refusal": "No."}, "finish_reason": "stop"}]})]);
    let failure = openai_api::parse_stream(OpenAiDialect::Chat, &bytes).unwrap_err();
    assert_eq!(failure.fault.code(), Code::ProviderRefused);
}
