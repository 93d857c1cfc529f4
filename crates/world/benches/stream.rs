//! Throughput of reading a model's stream on one core, for each protocol, beside `serde_json` over
//! the same events, and of redaction. Prints MB/s of the best of some passes.
#![expect(clippy::print_stdout, reason = "a benchmark answers on its output")]

use std::hint::black_box;
use std::time::Instant;

use serde::de::IgnoredAny;
use serde_json::{Value, json};
use unstuck_world::provider::anthropic_api;
use unstuck_world::provider::openai_api::{self, OpenAiDialect};
use unstuck_world::provider::sse::{EventTooLarge, SseParser};
use unstuck_world::redact::Redactor;

const BYTES: usize = 4_000_000;
const PASSES: usize = 50;
const WORDS: &str = "The build fails because the lock file names a version that is gone, so ";

fn main() {
    let messages = anthropic();
    report("anthropic messages", &messages, |stream| anthropic_api::parse_stream(stream).is_ok());
    let items = responses();
    let read = |stream: &[u8]| openai_api::parse_stream(OpenAiDialect::Responses, stream).is_ok();
    report("openai responses", &items, read);
    let chunks = chat();
    let read = |stream: &[u8]| openai_api::parse_stream(OpenAiDialect::Chat, stream).is_ok();
    report("openai chat", &chunks, read);

    let redactor = Redactor::new(["canary-0123456789"]);
    let line = format!("{WORDS}\n");
    let text = line.repeat(BYTES / line.len());
    let plain = speed(text.as_bytes(), |text| drop(black_box(redactor.redact_bytes(text))));
    let telling = text.replace("lock file", "password=hunter22");
    let telling = speed(telling.as_bytes(), |text| drop(black_box(redactor.redact_bytes(text))));
    println!("redaction: {plain:.0} MB/s without secrets, {telling:.0} with one on each line");
}

fn report(name: &str, stream: &[u8], read: impl Fn(&[u8]) -> bool) {
    let ours = speed(stream, |stream| assert!(read(stream), "{name}"));
    let events = speed(stream, |stream| each(stream, |_| ()));
    let json = speed(stream, |stream| {
        each(stream, |data| drop(black_box(serde_json::from_slice::<IgnoredAny>(data))));
    });
    println!(
        "{name}: {ours:.0} MB/s; its events alone {events:.0}; events and serde_json {json:.0}"
    );
}

fn each(stream: &[u8], mut read: impl FnMut(&[u8])) {
    let read = SseParser::default().push::<EventTooLarge>(stream, |data| {
        read(data);
        Ok(false)
    });
    assert!(read.is_ok());
}

fn stream(first: &[Value], delta: &Value, last: &[Value]) -> Vec<u8> {
    let event = |event: &Value| format!("event: x\ndata: {event}\n\n").into_bytes();
    let mut stream: Vec<u8> = first.iter().flat_map(event).collect();
    let delta = event(delta);
    stream.extend(delta.repeat(BYTES / delta.len()));
    stream.extend(last.iter().flat_map(event));
    stream
}

fn anthropic() -> Vec<u8> {
    let block = json!({"type": "text", "text": ""});
    stream(
        &[json!({"type": "content_block_start", "index": 0, "content_block": block})],
        &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORDS}}),
        &[
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            json!({"type": "message_stop"}),
        ],
    )
}

fn responses() -> Vec<u8> {
    let delta = json!({
        "type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
        "content_index": 0, "sequence_number": 7, "delta": WORDS,
    });
    stream(&[], &delta, &[json!({"type": "response.completed", "response": {"output": []}})])
}

fn chat() -> Vec<u8> {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        })
    };
    stream(&[], &chunk(json!({"content": WORDS}), None), &[chunk(json!({}), Some("stop"))])
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures the clock")]
#[expect(clippy::cast_precision_loss, reason = "some megabytes fit")]
fn speed(bytes: &[u8], mut read: impl FnMut(&[u8])) -> f64 {
    let best = (0..PASSES).map(|_| {
        let start = Instant::now();
        read(black_box(bytes));
        start.elapsed().as_secs_f64()
    });
    bytes.len() as f64 / 1e6 / best.fold(f64::INFINITY, f64::min)
}
