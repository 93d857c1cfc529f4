//! Redaction is done after one time, is the same in pieces, and leaves no planted secret.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::redact::Redactor;

const CANARY: &str = "canary5a1e0123";

fuzz_target!(|input: (u8, &str, &str)| {
    let (size, before, after) = input;
    let redactor = Redactor::new([CANARY]);
    let text = format!("{before}{CANARY}{after}");
    let clean = redactor.redact_text(&text).into_owned();
    assert!(!clean.contains(CANARY), "{clean}");
    assert_eq!(redactor.redact_text(&clean), clean, "{text:?}");
    let mut stream = redactor.start_stream();
    let size = usize::from(size).max(1);
    let mut pieces: Vec<u8> =
        text.as_bytes().chunks(size).flat_map(|piece| stream.push(piece)).collect();
    pieces.extend(stream.finish());
    assert_eq!(pieces, clean.as_bytes());
});
