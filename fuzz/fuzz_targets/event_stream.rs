//! Any bytes are the same events, however they are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_world::provider::sse::{EventTooLarge, SseParser};

fn read(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut events = SseParser::default();
    let mut read = Vec::new();
    for piece in bytes.chunks(size) {
        let pushed = events.push::<EventTooLarge>(piece, |data| {
            read.push(data.to_vec());
            Ok(false)
        });
        assert_eq!(pushed, Ok(false));
    }
    read
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, bytes) = input;
    assert_eq!(read(bytes, usize::from(size).max(1)), read(bytes, bytes.len().max(1)));
});
